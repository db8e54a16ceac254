import Foundation

/// The clients of the service, and the bank that it charges: they outlive it.
///
/// A client sends an order until it is answered, with the same key after each restart, and sometimes once more after that.
/// The bank refuses some charges, and loses some answers.
struct Driver {
  /// How a run of the service ends.
  enum End {
    /// Killed while it opens and loads, after a time.
    case early(Duration)
    /// Killed after a time of work.
    case time(Duration)
    /// Killed at a line that it prints.
    case line(Int)
    /// Drained after a number of lines.
    case drain(Int)
    /// Drained once all is done.
    case finish
  }

  private struct Order {
    /// The reply, once the order is answered.
    var number: Int?
    /// The number of charges by key.
    var charges: [String: Int] = [:]
    var reminder = Reminder()
  }

  private struct Reminder {
    var sent = 0
    var isAcknowledged = false
  }

  struct Wrong: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private static let clients = 12

  private let database: ServiceDatabase
  private var random: Generator
  private let began = Date()
  private var orders: [Int: Order] = [:]
  /// The orders without an answer.
  private var open: Set<Int> = []
  /// Answers of the bank that come late.
  private var late: [String] = []
  /// The ticks and the time of the next one, in nanoseconds since 1970, after the last run that has left a row.
  private var lastTick: (count: Int, due: Int64)?
  private var runs = 0
  private var isEnding = false
  private(set) var acknowledged = 0
  private(set) var reminded = 0
  private(set) var ticks = 0
  private(set) var lines: [String] = []

  init(_ database: ServiceDatabase, seed: UInt64) {
    self.database = database
    random = Generator(state: seed)
  }

  var charges: Int { orders.values.reduce(0) { $0 + $1.charges.values.reduce(0, +) } }

  private mutating func draws(_ one: Int, in all: Int) -> Bool {
    Int.random(in: 0..<all, using: &random) < one
  }

  // MARK: A run

  mutating func run(until end: End) throws {
    // The first process starts the tick; some of the later ones leave it to `resumeWork`.
    let declaresTick = lastTick == nil || draws(1, in: 2)
    let service = try ServiceProcess(database.address, declaresTick: declaresTick)
    var killTime: ContinuousClock.Instant?
    if case .early(let time) = end { killTime = .now + time }
    var (count, isKilled) = (0, false)
    (late, lines, isEnding) = ([], [], false)
    runs += 1
    loop: while true {
      let patience = ContinuousClock.Instant.now + (late.isEmpty ? .seconds(60) : .milliseconds(2))
      switch service.event(until: min(killTime ?? patience, patience)) {
      case .end:
        break loop
      case .timeout:
        if let killTime, killTime <= .now {
          service.kill()
          isKilled = true
        } else if late.isEmpty {
          service.kill()
          throw Wrong("the service hangs")
        }
        killTime = isKilled ? nil : killTime
        sendLate(service)
      case .line(let line):
        lines.append(line)
        count += 1
        // The service goes on once the server is there again.
        if database.isOnServer, draws(1, in: 1_000) { try database.crashServer() }
        if line == "ready", case .time(let time) = end { killTime = .now + time }
        if case .line(count) = end {
          service.kill()
          isKilled = true
        }
        try handle(line, service, end)
        if case .drain(count) = end { drain(service, "drain") }
        if case .finish = end, open.isEmpty, !isEnding { drain(service, "finish") }
        if draws(1, in: 3) { sendLate(service) }
      }
    }
    let (signal, code) = service.end()
    if isKilled, database.isOnServer, draws(1, in: 4) { try database.crashServer() }
    guard isKilled ? signal == SIGKILL : code == 0 && signal == nil && isEnding else {
      throw Wrong("the service has ended by itself")
    }
    try checkTicks()
  }

  private mutating func drain(_ service: ServiceProcess, _ request: String) {
    isEnding = true
    service.send(request)
  }

  private mutating func sendLate(_ service: ServiceProcess) {
    for line in late { service.send(line) }
    late = []
  }

  private mutating func handle(_ line: String, _ service: ServiceProcess, _ end: End) throws {
    var isFinishing = false
    if case .finish = end { isFinishing = true }
    let words = line.split(separator: " ").map(String.init)
    switch words[0] {
    case "ready":
      for order in open.sorted() { service.send("place \(order)") }
      while open.count < Self.clients, !isFinishing { place(service) }
    case "placed":
      try placed(Int(words[1])!, Int(words[2])!, service, isFinishing)
    case "scheduled":
      scheduled(Int(words[1])!, service)
    case "charge":
      try charge(Int(words[1])!, words[2], service)
    case "closed":
      if isFinishing, words[1...] != ["0", "0"] {
        throw Wrong("\(words[1]) effects are pending, and \(words[2]) dead letters left")
      }
    case "failed" where isEnding: break
    case "warning" where words[1] != "deadLetter" && words[1] != "workNotResumed": break
    default: throw Wrong("the service says: \(line)")
    }
  }

  // MARK: Clients

  private mutating func place(_ service: ServiceProcess) {
    let order = orders.count
    orders[order] = Order()
    open.insert(order)
    service.send("place \(order)")
    // Two at once.
    if draws(1, in: 8) { service.send("place \(order)") }
  }

  private mutating func placed(
    _ order: Int, _ number: Int, _ service: ServiceProcess, _ isFinishing: Bool
  ) throws {
    acknowledged += 1
    if let first = orders[order]!.number {
      if first != number {
        throw Wrong("order \(order) was answered with \(first), and then with \(number)")
      }
      return
    }
    orders[order]!.number = number
    open.remove(order)
    if isFinishing { return }
    if draws(3, in: 4) {
      // Without an answer nobody knows whether it comes, so it is not sent again.
      remind(order, service)
    }
    if draws(1, in: 4) { service.send("place \(Int.random(in: 0...order, using: &random))") }
    if !isEnding { place(service) }
  }

  private mutating func remind(_ order: Int, _ service: ServiceProcess) {
    orders[order]!.reminder.sent += 1
    service.send("remind \(order) \(Int.random(in: 0...300, using: &random))")
  }

  private mutating func scheduled(_ order: Int, _ service: ServiceProcess) {
    acknowledged += 1
    orders[order]!.reminder.isAcknowledged = true
    // Replaces the first one, unless its time has come.
    if orders[order]!.reminder.sent == 1, draws(1, in: 4), !isEnding { remind(order, service) }
  }

  // MARK: The bank

  private mutating func charge(_ order: Int, _ key: String, _ service: ServiceProcess) throws {
    guard orders[order] != nil else {
      throw Wrong("order \(order) is charged, and is of no client")
    }
    let kind = Int.random(in: 0..<10, using: &random)
    // Two in ten are refused, and one is charged, but its answer is lost.
    if kind > 1 { orders[order]!.charges[key, default: 0] += 1 }
    if orders[order]!.charges.count > 1 {
      throw Wrong("order \(order) is charged with the keys \(orders[order]!.charges)")
    }
    let answer = kind > 2 ? "charged \(key)" : "refused \(key)"
    if draws(1, in: 4) { late.append(answer) } else { service.send(answer) }
  }

  // MARK: The books

  /// Checks that the time of the next tick was moved by an interval at least for each tick, since it is saved with that.
  ///
  /// Half an interval is the tolerance: the time is computed from readings of two clocks.
  private mutating func checkTicks() throws {
    let books = try Books.ticks(database)
    guard let due = try books.tick()?.due, let count = try books.totals()?.ticks else {
      if lastTick != nil { throw Wrong("the tick is not scheduled any longer") }
      return
    }
    let interval = Int64(Service.tickInterval / .nanoseconds(1))
    if let lastTick, due < lastTick.due + Int64(count - lastTick.count) * interval - interval / 2 {
      throw Wrong(
        """
        \(count - lastTick.count) ticks, and the time of the next one was moved by \
        \((due - lastTick.due) / 1_000_000) ms only
        """)
    }
    lastTick = (count, due)
  }

  /// Checks the books once all is done.
  mutating func audit() throws {
    let books = try Books(database)
    let (placed, entries) = (try books.orders(), try books.entries())
    guard let totals = try books.totals() else { throw Wrong("the ledger is not saved") }
    var problems: [String] = []
    for (id, order) in orders.sorted(by: { $0.key < $1.key }) {
      guard let book = placed[id], let entry = entries[id] else {
        problems.append("order \(id) is not in the books")
        continue
      }
      if book.placed != 1 || book.number != order.number {
        problems.append("order \(id), number \(order.number ?? 0): \(book)")
      }
      if book.paid != 1 || entry.payments != 1 {
        problems.append("order \(id) is paid \(book.paid) times, in the ledger \(entry.payments)")
      }
      if order.charges.count != 1 {
        problems.append("order \(id) is charged with \(order.charges.count) keys")
      }
      let reminder = order.reminder
      let expected = (reminder.isAcknowledged ? 1 : 0)...reminder.sent
      if !expected.contains(entry.reminders) {
        problems.append("order \(id) has \(entry.reminders) reminders, and should have \(expected)")
      }
      reminded += entry.reminders
    }
    if placed.count != orders.count { problems.append("\(placed.count) orders of \(orders.count)") }
    if totals.early > 0 { problems.append("\(totals.early) reminders came before their time") }
    let passed = Duration.seconds(Date().timeIntervalSince(began)) / Service.tickInterval
    if totals.ticks < 1 || Double(totals.ticks) > passed {
      problems.append("\(totals.ticks) ticks in \(passed) intervals")
    }
    ticks = totals.ticks
    let keys = orders.keys.map { "order \($0)" }.sorted()
    if books.keys(ofWork: 1) != keys { problems.append("the keys are not those of the orders") }
    if !books.keys(ofWork: 2).isEmpty { problems.append("effects: \(books.keys(ofWork: 2))") }
    if books.keys(ofWork: 3) != ["cashier/tick"] {
      problems.append("schedules: \(books.keys(ofWork: 3))")
    }
    if !problems.isEmpty { throw Wrong(problems.prefix(20).joined(separator: "\n  ")) }
  }

  var orderCount: Int { orders.count }
}

struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) | (state << 31)
  }
}
