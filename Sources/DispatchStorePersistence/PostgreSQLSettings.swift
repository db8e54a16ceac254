#if PostgreSQL
  import DispatchStore

  /// Settings of a PostgreSQL database.
  public struct PostgreSQLSettings: Sendable {
    /// How long the owner may be silent before another process can take over.
    ///
    /// Each transaction renews the lease, by the database's clock, and an idle owner renews it three times as often as
    /// needed. A longer lease tolerates longer pauses of the owner. With a shorter one, a standby begins sooner.
    /// From 100 milliseconds to a day.
    public var lease: Duration
    /// How long the server may neither take nor send anything before the connection counts as lost.
    ///
    /// A statement that runs for longer fails, however often it is tried.
    public var patience: Duration
    /// Permits a server with `fsync`, `full_page_writes` or `synchronous_commit` off.
    ///
    /// Acknowledged commits are then lost when the server's machine loses power.
    public var maySkipSync: Bool

    /// Creates settings; by default, an acknowledged commit survives a loss of power.
    public init(
      lease: Duration = .seconds(10), patience: Duration = .seconds(30), maySkipSync: Bool = false
    ) {
      (self.lease, self.patience, self.maySkipSync) = (lease, patience, maySkipSync)
    }

    /// Stops the program if the settings can't work.
    func check() {
      if lease < .milliseconds(100) || lease > .seconds(86_400) {
        stopProgram(
          """
          A lease of \(lease) can't work: an owner would renew it without a pause, or never. Set the lease of \
          PostgreSQLSettings to a time from 100 milliseconds to a day.
          """)
      }
      if patience < .milliseconds(1) {
        stopProgram(
          """
          With a patience of \(patience), no answer of the server would come in time. Set the patience of \
          PostgreSQLSettings to some seconds.
          """)
      }
    }
  }
#endif
