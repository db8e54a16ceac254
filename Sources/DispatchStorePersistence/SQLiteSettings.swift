#if SQLite
  /// Settings of an SQLite database.
  public struct SQLiteSettings: Sendable {
    /// Further `PRAGMA` statements, such as `"cache_size = -64000"`, which run whenever the database is opened.
    ///
    /// `journal_mode` is always WAL, and `locking_mode` always NORMAL. A level of `synchronous` lower than FULL needs
    /// `maySkipSync`, and so does turning `fullfsync` or `checkpoint_fullfsync` off.
    public var pragmas: [String]
    /// Permits a lower level of `synchronous` than FULL.
    ///
    /// Acknowledged commits are then lost when the machine loses power.
    public var maySkipSync: Bool

    /// Creates settings; by default, an acknowledged commit survives a loss of power.
    public init(pragmas: [String] = [], maySkipSync: Bool = false) {
      (self.pragmas, self.maySkipSync) = (pragmas, maySkipSync)
    }
  }
#endif
