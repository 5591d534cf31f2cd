// The SQL statements that both adapters send. `?` stands for a value; the PostgreSQL connection
// replaces it by `$n`. The PostgreSQL adapter appends row locks.

export const DELETE_OVERLAPS = 'DELETE FROM import_overlaps WHERE import = ? OR earlier = ?'
