GRANT USAGE ON SCHEMA ratchet TO shop;
GRANT EXECUTE ON FUNCTION ratchet.enqueue, ratchet.state, ratchet.cancel TO shop;
