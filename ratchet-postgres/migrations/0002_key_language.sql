-- The key language of spec/key-language.md: a template and the values of an input give a key.
--
-- What is refused is raised with a code of class `RT` and its reason, as the vectors of spec/ call it, as the detail.
-- No message holds a value: keys and inputs are business data, and messages end up in logs.

CREATE FUNCTION ratchet.refuse_template(finding text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the key template is refused: %', message USING ERRCODE = 'RT002', DETAIL = finding, HINT =
        'It is made of a-z, 0-9, `_ . : / -` and placeholders such as `<order_id>`, as in `order:<order_id>:ship:v1`.';
END $$;

CREATE FUNCTION ratchet.check_template(template text) RETURNS void LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    -- An identifier is not `_` alone.
    grammar CONSTANT text :=
        '^([a-z0-9_.:/-]|<(?!_[.>])[A-Za-z_][A-Za-z0-9_]*(\.(?!_[.>])[A-Za-z_][A-Za-z0-9_]*)*>)*$';
    -- A placeholder counts as one character.
    shape CONSTANT text := regexp_replace(template, '<[^>]*>', 'x', 'g');
BEGIN
    PERFORM CASE
        WHEN octet_length(template) > 512 THEN ratchet.refuse_template('R007', 'it has more than 512 bytes')
        WHEN template !~ grammar THEN ratchet.refuse_template('R007', 'it does not follow the grammar')
        WHEN template !~ '<' THEN
            ratchet.refuse_template('R006', 'it has no placeholder, so all records would share one key')
        WHEN template ~ '>[^<:/]*<' THEN
            ratchet.refuse_template('R007', 'there is no `:` or `/` between two placeholders')
        WHEN shape ~ '^[:/]|[:/]$|[:/][:/]' THEN ratchet.refuse_template('R007', 'it has an empty segment')
        WHEN length(template) - length(replace(template, '<', '')) > 16 THEN
            ratchet.refuse_template('R007', 'it has more than 16 placeholders')
        WHEN length(shape) > 255 THEN
            ratchet.refuse_template('R007', 'it has more than 255 bytes beside its placeholders')
    END;
END $$;

CREATE FUNCTION ratchet.refuse_key(reason text, message text, hint text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = 'RT001', DETAIL = reason, HINT = hint;
END $$;

-- A JSON document in which every backslash of a string is written as \u005c, so that each other one begins an escape. NULL
-- where half of a surrogate pair stands alone.
CREATE FUNCTION ratchet.plain_escapes(document text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    plain CONSTANT text := replace(document, '\\', '\u005c');
    pair CONSTANT text := '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}';
BEGIN
    RETURN CASE WHEN regexp_replace(plain, pair, '', 'g') !~ '\\u[dD][89a-fA-F]' THEN plain END;
END $$;

-- The text of the value that a placeholder names.
CREATE FUNCTION ratchet.key_value(place text, value json) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    subject CONSTANT text := format('the value of `<%s>`', place);
    token CONSTANT text := value::text;
BEGIN
    CASE coalesce(json_typeof(value), 'missing')
        WHEN 'boolean' THEN
            RETURN token;
        WHEN 'number' THEN
            IF token ~ '^(0|-?[1-9][0-9]*)$' THEN
                RETURN token;
            END IF;
            PERFORM ratchet.refuse_key('not_an_integer',
                subject || ' is a number with a fraction, an exponent or a negative zero, which has no single text form',
                'Use an integer, or the id of the record as a string.');
        WHEN 'string' THEN
            RETURN value #>> '{}';
        WHEN 'missing' THEN
            PERFORM ratchet.refuse_key('missing', subject || ' is missing in the input',
                'The names of a path are those of the JSON document.');
        ELSE
            PERFORM ratchet.refuse_key('not_a_key_part',
                subject || ' is null, a list or an object, which has no single text form',
                'A key is made of strings, integers and booleans.');
    END CASE;
END $$;

CREATE FUNCTION ratchet.check_key_value(place text, value text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    subject CONSTANT text := format('the value of `<%s>`', place);
    white_space CONSTANT text := '[\u0009-\u000D\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]';
BEGIN
    IF value = '' THEN
        PERFORM ratchet.refuse_key('empty',
            subject || ' is empty, so all records without it would share one key',
            'Give it a value before you enqueue.');
    ELSIF value ~ '[\u0001-\u001F\u007F-\u009F]' THEN
        PERFORM ratchet.refuse_key('control_character',
            subject || ' contains a control character, which is an accident in an identity',
            'Clean the value where it enters your system.');
    ELSIF value ~ ('^' || white_space || '|' || white_space || '$') THEN
        PERFORM ratchet.refuse_key('surrounding_white_space',
            subject || ' begins or ends with white space, so that the same thing could get two keys',
            'Trim the value where it enters your system.');
    END IF;
END $$;

-- Everything outside A-Z a-z 0-9 . _ ~ - becomes % and two digits, byte by byte.
CREATE FUNCTION ratchet.percent_encoded(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN value ~ '^[A-Za-z0-9._~-]*$' THEN value ELSE (
        SELECT string_agg(CASE WHEN chr(b) ~ '^[A-Za-z0-9._~-]$' THEN chr(b)
            ELSE '%' || upper(lpad(to_hex(b), 2, '0')) END, '' ORDER BY at)
        FROM (SELECT at, get_byte(bytes, at) AS b
            FROM (SELECT convert_to(value, 'UTF8') AS bytes) AS v,
                generate_series(0, octet_length(bytes) - 1) AS at) AS byte)
    END
$$;

CREATE FUNCTION ratchet.check_key_length(text_of_identity text) RETURNS void LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    IF octet_length(text_of_identity) > 255 THEN
        PERFORM ratchet.refuse_key('too_long', format(
            'the key has %s bytes and 255 are allowed, since destinations refuse or cut longer keys',
            octet_length(text_of_identity)), 'Use an id in place of a long text.');
    END IF;
END $$;

-- Whether a value is written as the code writes it, so that the code gives it the same text: in no other spelling that the
-- code can read, since the fingerprint would be another one all the same. The forms are those of `Form` in the code.
CREATE FUNCTION ratchet.has_form(value json, form jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kind CONSTANT text := json_typeof(value);
    token CONSTANT text := value #>> '{}';
BEGIN
    RETURN CASE form ->> 'form'
        WHEN 'boolean' THEN kind = 'boolean'
        -- A number of more digits is beyond all bounds.
        WHEN 'integer' THEN kind = 'number' AND CASE WHEN length(token) <= 40
            THEN token::numeric BETWEEN (form ->> 'least')::numeric AND (form ->> 'most')::numeric END
        ELSE kind = 'string' AND CASE form ->> 'form'
            WHEN 'text' THEN true
            WHEN 'character' THEN length(token) = 1
            WHEN 'uuid' THEN token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            -- A day that its month does not have is one of the next.
            WHEN 'date' THEN CASE WHEN token ~ '^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}$'
                THEN to_char(make_date(left(token, 4)::int, substr(token, 6, 2)::int, 1) + right(token, 2)::int - 1,
                    'YYYY-MM-DD') = token END
            WHEN 'names' THEN form -> 'names' ? token
        END
    END IS TRUE;
END $$;

CREATE FUNCTION ratchet.form_in_words(form jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE form ->> 'form'
        WHEN 'text' THEN 'a string'
        WHEN 'character' THEN 'a string of one character'
        WHEN 'integer' THEN format('an integer from %s to %s', form ->> 'least', form ->> 'most')
        WHEN 'boolean' THEN 'true or false'
        WHEN 'uuid' THEN 'a string, a UUID with hyphens in lower case'
        WHEN 'date' THEN 'a string, a calendar date such as 2026-11-29'
        WHEN 'names' THEN 'one of '
            || (SELECT string_agg(to_json(n)::text, ', ' ORDER BY n) FROM jsonb_object_keys(form -> 'names') AS n)
    END
$$;

-- The text of the value that a placeholder names, which the code would give it too.
CREATE FUNCTION ratchet.key_value(place text, value json, form jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    token text;
BEGIN
    IF coalesce(form ->> 'form', 'opaque') = 'opaque' THEN
        PERFORM ratchet.refuse_key('opaque', format('how the value of `<%s>` is written in a key is known to its type alone', place),
            'Enqueue this operation from Rust; or give the type a `KeyPart::FORM`, and let serde write the field as it is.');
    END IF;
    token := ratchet.key_value(place, value);
    IF NOT ratchet.has_form(value, form) THEN
        PERFORM ratchet.refuse_key('other_form', format('the value of `<%s>` is not written as the code writes it', place),
            format('Here stands %s.', ratchet.form_in_words(form)));
    END IF;
    RETURN coalesce(form -> 'names' ->> token, token);
END $$;

-- Renders the key of an input whose values have these forms, in the order of the placeholders; whatever they are where NULL
-- is given. The template is checked, since it may come from anywhere.
CREATE FUNCTION ratchet.render_key(template text, input json, forms jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- A zero byte, which `text` cannot hold, is refused like every other control character.
    readable CONSTANT json := replace(ratchet.plain_escapes(input::text), '\u0000', '\u0001');
    key text := '';
    piece text[];
    nth int := 0;
    found json;
    value text;
BEGIN
    IF template IS NULL OR input IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM ratchet.check_template(template);
    IF readable IS NULL THEN
        PERFORM ratchet.refuse_key('not_unicode', 'the input has half of a surrogate pair', 'Send well-formed Unicode.');
    END IF;
    FOR piece IN SELECT m FROM regexp_matches(template, '([^<]+)|<([^>]+)>', 'g') AS m LOOP
        IF piece[2] IS NULL THEN
            key := key || piece[1];
        ELSE
            found := readable #> string_to_array(piece[2], '.');
            value := CASE WHEN forms IS NULL THEN ratchet.key_value(piece[2], found)
                ELSE ratchet.key_value(piece[2], found, forms -> nth) END;
            nth := nth + 1;
            PERFORM ratchet.check_key_value(piece[2], value);
            key := key || ratchet.percent_encoded(value);
        END IF;
    END LOOP;
    PERFORM ratchet.check_key_length(key);
    RETURN key;
END $$;

-- The key language alone: whoever calls it knows the texts of the values.
CREATE FUNCTION ratchet.render_key(template text, input json) RETURNS text LANGUAGE sql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp AS $$
    SELECT ratchet.render_key(template, input, NULL)
$$;

-- The text of an identity: a key with the marks of a generation and a step.
CREATE FUNCTION ratchet.marked_key(key text, generation bigint DEFAULT 1, step text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    marked CONSTANT text := key || CASE WHEN generation = 1 THEN '' ELSE '#' || generation END
        || coalesce('!' || step, '');
BEGIN
    IF key ~ '[#!]' THEN
        PERFORM ratchet.refuse_key('already_marked',
            'the key already carries a generation or a step, and a second mark would make it ambiguous',
            'Put both marks on the bare key in one call.');
    ELSIF generation NOT BETWEEN 1 AND 4294967295 THEN
        PERFORM ratchet.refuse_key('bad_generation',
            'a generation is counted from 1 to 4294967295', 'Pass 1 for the first.');
    ELSIF step !~ '^[a-z0-9_.-]{1,64}$' THEN
        PERFORM ratchet.refuse_key('bad_step',
            'the name of a step is not one to 64 characters of [a-z0-9_.-]', 'Rename the step.');
    END IF;
    PERFORM ratchet.check_key_length(marked);
    RETURN marked;
END $$;
