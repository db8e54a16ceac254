#if SIMULATION
  import DispatchStore
  import DispatchStorePersistence
  import DispatchStoreTesting

  /// A process that is a client of a simulated server: it stands still at times, loses its connections, and crashes.
  final class SimulatedProcess: PostgreSQLClient, @unchecked Sendable {
    // because one thread of a world runs at a time
    let number: Int32
    private let server: SimulatedServer
    private let troubles: Troubles
    private(set) var hasCrashed = false
    private var backends: [SimulatedBackend] = []

    /// The troubles that a process may have.
    struct Troubles {
      /// The process loses its connection in one exchange with the server in so many; zero for none.
      var cuts = 0
      /// The process stands still at one exchange in so many.
      var pauses = 0
      /// The longest time of a pause.
      var pause = Duration.zero
    }

    init(_ number: Int, _ server: SimulatedServer, _ troubles: Troubles = Troubles()) {
      (self.number, self.server, self.troubles) = (Int32(number), server, troubles)
    }

    var holder: String { "\(number) - - -" }

    func isDead(_ holder: PostgreSQLHolder) -> Bool { server.knownDead.contains(holder.process) }

    /// Ends the process; its connections stay open at the server if its machine has gone.
    func crash(isKnown: Bool, closes: Bool) {
      hasCrashed = true
      if isKnown { server.knownDead.insert(number) }
      if closes { for backend in backends { backend.end(now: false) } }
    }

    func connect() throws(PostgreSQLFailure) -> any PostgreSQLConnection {
      try checkAlive()
      guard let backend = server.connect() else { throw .lost("08001") }
      backends.append(backend)
      return SimulatedConnection(self, backend)
    }

    var now: Duration { server.now }

    func pause(for time: Duration) { wait(for: "a pause", atMost: time) }

    /// Stands still at times, as after SIGSTOP.
    fileprivate func standStill() {
      guard isDrawn(troubles.pauses) else { return }
      pause(for: troubles.pause * server.simulation.draw(below: 100) / 100)
    }

    private func isDrawn(_ count: Int) -> Bool {
      count > 0 && server.simulation.draw(below: count) == 0
    }

    fileprivate func checkAlive() throws(PostgreSQLFailure) {
      // An error that is not tried again, so that what is left of the process ends.
      if hasCrashed { throw .statement("58000") }
    }

    /// The moment at which an exchange loses its connection; nil if it does not.
    fileprivate enum Cut: Int { case beforeSending, beforeRunning, beforeReply }

    fileprivate var cut: Cut? {
      isDrawn(troubles.cuts) ? Cut(rawValue: server.simulation.draw(below: 3)) : nil
    }

    /// Whether the server sees that a connection is lost.
    fileprivate var isSeen: Bool { server.simulation.draw(below: 2) == 0 }

    fileprivate func run(_ body: @escaping @Sendable () -> Void) {
      server.simulation.startThread(body)
    }
  }

  /// A connection of a process, until it is cut.
  private final class SimulatedConnection: PostgreSQLConnection, @unchecked Sendable {
    // because one thread of a world runs at a time
    private let process: SimulatedProcess
    private let backend: SimulatedBackend
    private var isCut = false
    private var reply: Result<[SimulatedRows], PostgreSQLFailure>?

    init(_ process: SimulatedProcess, _ backend: SimulatedBackend) {
      (self.process, self.backend) = (process, backend)
    }

    deinit { if !isCut { backend.end(now: false) } }

    var isInTransaction: Bool { backend.isInTransaction }

    func run(_ statements: [PostgreSQLStatement]) throws(PostgreSQLFailure)
      -> [any PostgreSQLResult]
    {
      process.standStill()
      try process.checkAlive()
      let cut = process.cut
      if cut == .beforeSending || isCut { throw lose() }
      reply = nil
      backend.receive()
      process.run {
        do throws(PostgreSQLFailure) {
          self.reply = .success(try self.backend.run(statements))
        } catch {
          self.reply = .failure(error)
        }
      }
      if cut == .beforeRunning { throw lose() }
      // The statements have been sent: the server runs them, whatever becomes of this process.
      let isAnswered = wait(for: "the server's reply", atMost: .seconds(10)) { self.reply != nil }
      process.standStill()
      try process.checkAlive()
      guard isAnswered, cut == nil, let reply else { throw lose() }
      return try reply.get()
    }

    private func lose() -> PostgreSQLFailure {
      if !isCut, process.isSeen { backend.end(now: false) }
      isCut = true
      return .lost("08006")
    }
  }
#endif
