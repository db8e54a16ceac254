#if PostgreSQL
  public import DispatchStore

  extension PersistenceDatabase {
    /// A partition of a PostgreSQL database: a named set of stores, which one process owns at a time.
    ///
    ///     let persistence = try await Persistence(
    ///       .postgreSQL(url: "postgresql://shop@db.internal/shop", partition: "eu-1"))
    ///
    /// The database lets only the owner write: each transaction first checks that its process is still the owner. If a
    /// process stood still and was replaced, it saves nothing.
    ///
    /// - Parameters:
    ///   - url: The URL, or the `key=value` pairs, as `psql` takes them. The password is never printed.
    ///   - partition: The name of the partition, which is made if there is none. Several can share a database.
    ///   - waitForOwnership: Whether opening waits until the present owner has closed, has died, or has let its lease
    ///     run out. Otherwise opening throws `inUse`. Cancelling the task ends the wait.
    ///   - settings: Further settings.
    public static func postgreSQL(
      url: String, partition: String = "main", waitForOwnership: Bool = false,
      settings: PostgreSQLSettings = PostgreSQLSettings()
    ) -> PersistenceDatabase {
      settings.check()
      return PersistenceDatabase {
        PostgreSQLDriver(
          PostgreSQLPlace(url: url, partition: partition), settings, waits: waitForOwnership)
      }
    }
  }

  extension PostgreSQLDriver {
    convenience init(_ place: PostgreSQLPlace, _ settings: PostgreSQLSettings, waits: Bool) {
      self.init(
        LibPQClient(place: place, settings: settings), place, lease: settings.lease,
        patience: settings.patience, maySkipSync: settings.maySkipSync, waits: waits)
    }
  }
#endif
