-- Whether the store takes work or is one end of a move, in one row. Where it does not take all work, triggers named
-- `ratchet_guard` refuse the rest of it to every program; an open store has none, so nobody pays for them.
CREATE TABLE ratchet.standing (
    -- open, draining, frozen, moved, filling.
    stands text COLLATE "C" NOT NULL,
    -- The address of the other store, without credentials.
    other text,
    -- The whole of it as JSON.
    facts text COLLATE "C" NOT NULL,
    -- True only inside the transaction that carries a batch in, whose rows the triggers let through: nobody else sees it.
    importing boolean NOT NULL DEFAULT false
);

CREATE UNIQUE INDEX standing_single ON ratchet.standing ((true));

INSERT INTO ratchet.standing VALUES ('open', NULL, '{"stands":"open"}');

-- With the rights of the owner, since a producer has none on any table.
CREATE FUNCTION ratchet.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
    standing ratchet.standing;
BEGIN
    SELECT s.* INTO standing FROM ratchet.standing AS s;
    IF standing.importing THEN
        RETURN NULL;
    ELSIF standing.stands = 'filling' THEN
        RAISE EXCEPTION 'this store is being filled from % and takes nothing else', standing.other
            USING ERRCODE = 'RT007', DETAIL = coalesce(standing.other, ''),
                HINT = 'Wait until the move has ended, or run `ratchet move` again if it was interrupted.';
    END IF;
    RAISE EXCEPTION 'the records of this store were moved to %, or are about to be', coalesce(standing.other, 'another one')
        USING ERRCODE = 'RT006', DETAIL = coalesce(standing.other, ''), HINT = 'Connect to that store.';
END
$$;

-- A step is written as a whole, so it is compared with the one that stands.
CREATE FUNCTION ratchet.refuse_step_that_begins() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ''
AS $$
DECLARE
    known ratchet.steps;
    standing ratchet.standing;
BEGIN
    SELECT s.* INTO known FROM ratchet.steps AS s WHERE s.record_id = NEW.record_id AND s.name = NEW.name;
    IF (NEW.state = 'started' AND known.state IS DISTINCT FROM 'started')
            OR (NEW.pin IS NOT NULL AND NEW.pin IS DISTINCT FROM known.pin) THEN
        SELECT s.* INTO standing FROM ratchet.standing AS s;
        RAISE EXCEPTION 'the records of this store are about to be moved to %', standing.other
            USING ERRCODE = 'RT006', DETAIL = coalesce(standing.other, ''), HINT = 'Connect to that store.';
    END IF;
    RETURN NEW;
END
$$;
