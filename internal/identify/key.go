package identify

import "mooring"

// NameKey checks a key that a caller of the session API gives a session, and gives the key as it is kept with the aliases by
// which requests reach that session: under every name where the key is unguessable, else under the generic ones. It is held to
// the rules of an id in a generic header, which could not carry anything else.
func NameKey(given string) (key string, aliases []mooring.Alias, err error) {
	key = bare(given)
	if placeholder(key) {
		return "", nil, mooring.Errorf(mooring.CodeInvalidSessionID, "This key stands for no session; give another one, or leave it out to get one.")
	}
	if err := checkValue("key", key); err != nil {
		return "", nil, err
	}
	generic := signal{scope: scopeGeneric}
	return key, []mooring.Alias{generic.alias(key)}, nil
}
