-- migrate:up

-- Nothing of this version asks it any longer. It stays for servers of the version before, which go on until they are replaced.
comment on function same_customer is 'as subjects_of_person, which is asked instead; to be dropped by a later version';

-- migrate:down
