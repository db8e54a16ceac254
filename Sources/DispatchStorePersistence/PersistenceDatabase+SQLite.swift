#if SQLite
  public import DispatchStore

  extension PersistenceDatabase {
    /// A SQLite database in a file, which is made if there is none.
    ///
    /// A file `<path>-owner` beside it names the process that has it open. The folder must be on a local file system:
    /// network file systems are refused, but those that programs mount with FUSE are not recognised. A file with more
    /// than one hard link is refused. Anyone may read the database meanwhile, with `sqlite3` for example.
    ///
    /// - Parameters:
    ///   - path: The path of the file. The folder must exist.
    ///   - settings: Further settings.
    public static func sqlite(
      path: String, settings: SQLiteSettings = SQLiteSettings()
    ) -> PersistenceDatabase {
      PersistenceDatabase { SQLiteDriver(path: path, settings: settings) }
    }
  }
#endif
