import Foundation
import Programs

/// The clients of the service, and the bank that it charges: they outlive it.
///
/// A client sends an order until it is answered, with the same key after each restart, and sometimes once more after that.
/// The bank refuses some charges, and loses some answers.
struct Driver {
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

  let database: ServiceDatabase
  let kind: Kind
  var random: SeededGenerator
  private let began = Date()
  private var orders: [Int: Order] = [:]
  /// The orders without an answer.
  private(set) var open: Set<Int> = []
  /// Answers of the bank that come late.
  var late: [(service: ServiceProcess, line: String)] = []
  /// The ticks and the time of the next one, in nanoseconds since 1970, after the last run that has left a row.
  private(set) var lastTick: (count: Int, due: Int64)?
  var isEnding = false
  private(set) var acknowledged = 0
  private(set) var reminded = 0
  private(set) var ticks = 0
  var lines: [String] = []

  // The processes.
  var services: [ServiceProcess] = []
  /// The one that has said last that it serves.
  var owner: ServiceProcess?
  /// Why there is no owner, and since when, if another process waits.
  var gone: (cause: Pauses.Cause, time: Date)?
  /// When those that stand still go on.
  var continueTime: ContinuousClock.Instant?
  /// Whether the server records the groups.
  var isRecorded = false
  /// Whether the database has gone back, and a service has said so.
  var hasGoneBack = false
  var pauses = Pauses()
  var counts: [Count: Int] = [:]

  /// What has happened besides.
  enum Count: CaseIterable {
    case takeOvers, stops, stopsInCommit, losses, returned, unforeseen, groups, wentBack
  }

  init(_ database: ServiceDatabase, _ kind: Kind, seed: UInt64) {
    (self.database, self.kind) = (database, kind)
    random = SeededGenerator(seed: seed)
  }

  var charges: Int { orders.values.reduce(0) { $0 + $1.charges.values.reduce(0, +) } }

  mutating func draws(_ one: Int, in all: Int) -> Bool {
    Int.random(in: 0..<all, using: &random) < one
  }

  // MARK: Lines

  mutating func sendLate() {
    for (service, line) in late { service.send(line) }
    late = []
  }

  mutating func handle(_ line: String, _ service: ServiceProcess, _ end: End) throws {
    var isFinishing = false
    if case .finish = end { isFinishing = true }
    let words = line.split(separator: " ").map(String.init)
    switch words[0] {
    case "losing": service.isLosing = true
    case "waiting": service.isWaiting = true
    case "ready": try began(service, end)
    case "lost": try lost(words[1], Int(words[2])!, service, line)
    case "placed":
      try placed(Int(words[1])!, Int(words[2])!, isFinishing)
    case "scheduled":
      scheduled(Int(words[1])!)
    case "charge":
      try charge(Int(words[1])!, words[2], service)
    case "closed":
      noteGone(service, .ended)
      if isFinishing, words[1...] != ["0", "0"] {
        throw Wrong("\(words[1]) effects are pending, and \(words[2]) dead letters left")
      }
    case "failed"
    where isEnding || service.isLosing || ["notOwner", "journalWentBack"].contains(words[1]): break
    case "warning" where words[1] != "deadLetter" && words[1] != "workNotResumed": break
    default: throw Wrong("the service says: \(line)")
    }
  }

  // MARK: Clients

  /// Sends the orders without an answer to the owner, and further ones.
  mutating func fill(_ end: End) {
    for order in open.sorted() { owner?.send("place \(order)") }
    if case .finish = end { return }
    while open.count < Self.clients { place() }
  }

  private mutating func place() {
    let order = orders.count
    orders[order] = Order()
    open.insert(order)
    owner?.send("place \(order)")
    // Two at once.
    if draws(1, in: 8) { owner?.send("place \(order)") }
  }

  private mutating func placed(_ order: Int, _ number: Int, _ isFinishing: Bool) throws {
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
      remind(order)
    }
    if draws(1, in: 4) { owner?.send("place \(Int.random(in: 0...order, using: &random))") }
    if !isEnding { place() }
  }

  private mutating func remind(_ order: Int) {
    guard let owner else { return }
    orders[order]!.reminder.sent += 1
    owner.send("remind \(order) \(Int.random(in: 0...300, using: &random))")
  }

  private mutating func scheduled(_ order: Int) {
    acknowledged += 1
    orders[order]!.reminder.isAcknowledged = true
    // Replaces the first one, unless its time has come.
    if orders[order]!.reminder.sent == 1, draws(1, in: 4), !isEnding { remind(order) }
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
    if draws(1, in: 4) { late.append((service, answer)) } else { service.send(answer) }
  }

  // MARK: The books

  /// Checks that the time of the next tick was moved by an interval at least for each tick, since it is saved with that.
  ///
  /// Half an interval is the tolerance: the time is computed from readings of two clocks.
  mutating func checkTicks() throws {
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
    // A process takes a while to start, and the first tick comes an interval later.
    if totals.ticks < 1 && passed > 10 || Double(totals.ticks) > passed {
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
