-- Canonical JSON (RFC 8785) and fingerprints as spec/fingerprints.md says.
--
-- Documents are of type `json` and not `jsonb`: that one keeps neither how a number was written (`1e20` is a double, and
-- the same with all its digits an integer that is refused), nor \u0000, nor a member that is given twice.

CREATE FUNCTION ratchet.refuse_input(reason text, message text, hint text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the input is refused: %', message USING ERRCODE = 'RT003', DETAIL = reason, HINT = hint;
END $$;

-- What sorts, by code points, as the name does by UTF-16 units: there, characters beyond U+FFFF stand before those from
-- U+E000 on. The last character of all is put before these, and told apart from itself.
CREATE FUNCTION ratchet.utf16_order(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN name ~ '[\uE000-\uFFFF\U0010FFFF]' THEN regexp_replace(
            replace(name, U&'\+10FFFF', U&'\+10FFFF\0001'), '([\uE000-\uFFFF])', U&'\+10FFFF\\1', 'g')
        ELSE name END COLLATE "C"
$$;

-- The database writes strings with the shortest escapes.
CREATE FUNCTION ratchet.canonical_string(token text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN strpos(token, '\') = 0 THEN token ELSE to_json(token::json #>> '{}')::text END
$$;

-- The digits of a double without zeros at the ends, and where the point stands: after so many of them.
CREATE FUNCTION ratchet.digits_of(value float8, OUT digits text, OUT point int) LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    parts text[] := regexp_match(abs(value)::text, '^([0-9]+)\.?([0-9]*)(?:e([+-][0-9]+))?$');
BEGIN
    digits := ltrim(parts[1] || parts[2], '0');
    point := length(parts[1]) + coalesce(parts[3], '0')::int - (length(parts[1] || parts[2]) - length(digits));
    digits := rtrim(digits, '0');
END $$;

-- The fewest digits that read back as the double, as ECMAScript prints it. The database never takes the very ends of the
-- interval that reads back as it; where the one number with fewer digits is such an end, it stands beside what it took.
CREATE FUNCTION ratchet.shortest_digits(value float8, OUT digits text, OUT point int)
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    shorter numeric;
    candidate text;
BEGIN
    SELECT d.digits, d.point INTO digits, point FROM ratchet.digits_of(value) AS d;
    IF length(digits) < 16 THEN
        RETURN;
    END IF;
    shorter := left(digits, -1)::numeric;
    FOREACH candidate IN ARRAY ARRAY[shorter::text, (shorter + 1)::text] LOOP
        -- The largest doubles have a neighbour that is none.
        IF (candidate || 'e' || (point - length(digits) + 1))::numeric < 1.7976931348623158e308
            AND (candidate || 'e' || (point - length(digits) + 1))::float8 = abs(value) THEN
            point := point - (length(digits) - 1) + length(candidate);
            digits := rtrim(candidate, '0');
            RETURN;
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION ratchet.canonical_number(token text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    value float8;
    digits text;
    point int;
    sign CONSTANT text := CASE WHEN token LIKE '-%' THEN '-' ELSE '' END;
BEGIN
    IF token ~ '^-?[0-9]{1,15}$' THEN
        RETURN CASE token WHEN '-0' THEN '0' ELSE token END;
    ELSIF token ~ '^-?[0-9]+$' THEN
        IF abs(token::numeric) > 9007199254740991 THEN
            PERFORM ratchet.refuse_input('integer_too_large',
                'an integer beyond ±(2^53−1) would be rounded by other readers of JSON', 'Send it as a string.');
        END IF;
        RETURN token;
    END IF;
    value := token::float8;
    IF value = 0 THEN
        RETURN '0';
    END IF;
    SELECT d.digits, d.point INTO digits, point FROM ratchet.shortest_digits(value) AS d;
    RETURN sign || CASE
        WHEN point BETWEEN length(digits) AND 21 THEN rpad(digits, point, '0')
        WHEN point BETWEEN 1 AND 21 THEN left(digits, point) || '.' || substr(digits, point + 1)
        WHEN point BETWEEN -5 AND 0 THEN '0.' || repeat('0', -point) || digits
        ELSE left(digits, 1) || CASE WHEN length(digits) > 1 THEN '.' || substr(digits, 2) ELSE '' END
            || 'e' || CASE WHEN point > 0 THEN '+' ELSE '' END || (point - 1)
    END;
END $$;

-- What is left out of the fingerprint is told by `volatile`, a list of kinds of objects: each says which members are left
-- out (`without`) and of which kinds the members are that hold more of them (`within`). `kinds` are those of this value.
CREATE FUNCTION ratchet.canonical_value(value json, levels int, volatile jsonb, kinds int[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF levels = 0 THEN
        PERFORM ratchet.refuse_input('too_deep', 'it is nested more than 64 levels deep',
            'Flatten it, or store it elsewhere and pass its id.');
    END IF;
    CASE json_typeof(value)
        WHEN 'string' THEN
            RETURN ratchet.canonical_string(value::text);
        WHEN 'number' THEN
            RETURN ratchet.canonical_number(value::text);
        WHEN 'array' THEN
            RETURN (SELECT '[' || coalesce(string_agg(
                    ratchet.canonical_value(item, levels - 1, volatile, kinds), ',' ORDER BY at), '') || ']'
                FROM json_array_elements(value) WITH ORDINALITY AS t(item, at));
        WHEN 'object' THEN
            RETURN ratchet.canonical_object(value, levels, volatile, kinds);
        ELSE
            RETURN value::text;
    END CASE;
END $$;

CREATE FUNCTION ratchet.canonical_object(object json, levels int, volatile jsonb, kinds int[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    canonical text;
    is_clear boolean;
BEGIN
    SELECT '{' || coalesce(string_agg(to_json(name)::text || ':' || CASE cardinality(kinds)
                WHEN 0 THEN ratchet.canonical_value(member, levels - 1, volatile, kinds)
                ELSE ratchet.canonical_value(member, levels - 1, volatile,
                    ratchet.kinds_within(volatile, kinds, name)) END,
            ',' ORDER BY ratchet.utf16_order(name))
            FILTER (WHERE cardinality(kinds) = 0 OR NOT ratchet.is_volatile(volatile, kinds, name)), '') || '}',
        count(*) = count(DISTINCT name COLLATE "C")
    INTO canonical, is_clear FROM json_each(object) AS t(name, member);
    IF NOT is_clear THEN
        PERFORM ratchet.refuse_input('duplicate_name',
            'an object has two members of one name, and readers of JSON differ in which one counts',
            'Send each member once.');
    END IF;
    RETURN canonical;
END $$;

CREATE FUNCTION ratchet.is_volatile(volatile jsonb, kinds int[], name text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM unnest(kinds) AS kind WHERE volatile -> kind -> 'without' ? name);
END $$;

CREATE FUNCTION ratchet.kinds_within(volatile jsonb, kinds int[], name text) RETURNS int[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT within::int
        FROM unnest(kinds) AS kind, jsonb_array_elements_text(volatile -> kind -> 'within' -> name) AS within);
END $$;

-- `text` cannot hold U+0000. Two characters stand for it, and two others for U+0001, in the order of what they stand for.
CREATE FUNCTION ratchet.without_zeros(plain text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT replace(replace(plain, '\u0001', '\u0001\u0002'), '\u0000', '\u0001\u0001')
$$;

CREATE FUNCTION ratchet.with_zeros(canonical text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT replace(replace(replace(replace(canonical,
        '\\', '\u005c'), '\u0001\u0001', '\u0000'), '\u0001\u0002', '\u0001'), '\u005c', '\\')
$$;

-- The canonical form, without what is volatile.
CREATE FUNCTION ratchet.canonical_without(input json, volatile jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
    plain CONSTANT text := ratchet.plain_escapes(input::text);
    kinds CONSTANT int[] := CASE WHEN jsonb_array_length(volatile) > 0 THEN '{0}' ELSE '{}' END;
    canonical text;
BEGIN
    IF plain IS NULL THEN
        PERFORM ratchet.refuse_input('not_unicode', 'a string has half of a surrogate pair', 'Send well-formed Unicode.');
    ELSIF strpos(plain, '\u0000') > 0 THEN
        canonical := ratchet.with_zeros(ratchet.canonical_value(ratchet.without_zeros(plain)::json, 64, volatile, kinds));
    ELSE
        canonical := ratchet.canonical_value(plain::json, 64, volatile, kinds);
    END IF;
    IF octet_length(canonical) > 262144 THEN
        PERFORM ratchet.refuse_input('too_large',
            format('it has %s bytes of JSON and 262144 are allowed', octet_length(canonical)),
            'Store it elsewhere and pass its id.');
    END IF;
    RETURN canonical;
EXCEPTION WHEN numeric_value_out_of_range THEN
    -- What the database says of it quotes the number.
    PERFORM ratchet.refuse_input('not_a_number', 'a number is beyond what a double can hold', 'Send it as a string.');
END $$;

CREATE FUNCTION ratchet.canonical(input json) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT ratchet.canonical_without(input, '[]')
$$;

-- SHA-256 over the canonical form; as text: encode(ratchet.fingerprint(…), 'hex').
CREATE FUNCTION ratchet.fingerprint(input json, volatile jsonb DEFAULT '[]') RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT sha256(convert_to(ratchet.canonical_without(input, volatile), 'UTF8'))
$$;
