import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Charges for orders, before and after a crash.
  static let outbox = Scenario(
    name: "outbox", summary: "durable work is done once in the books, whenever the process dies"
  ) { dispatcher, simulation in
    let (database, bank) = (MemoryDatabase(), Bank())
    let cashier = try await Cashier(dispatcher, database, bank)
    let mayFail = database.failAtSomeTime(simulation)
    let plans = (1...4).map { Purchase($0, simulation) }
    let interruption = simulation.draw(below: 4)
    switch interruption {
    case 0: simulation.startThread { cashier.charging.cancel() }
    case 1: simulation.startThread { dispatcher.close() }
    default: break
    }
    await cashier.run(plans)
    if !mayFail, interruption != 1 {
      await dispatcher.waitForWork()
      try check(dispatcher.pendingEffects.isEmpty, "nobody does \(dispatcher.pendingEffects)")
    }
    try check(bank.faults.now.isEmpty, "\(bank.faults.now)")
    database.removeFaults()
    database.crash()
    let next = try await Cashier(simulation.makeDispatcher(name: dispatcher.name), database, bank)
    for number in cashier.acknowledged.now {
      try check(next.book.placed.contains(number), "the acknowledged order \(number) is lost")
    }
    next.dispatcher.resumeWork()
    await next.dispatcher.waitForWork()
    await next.dispatcher.drain()
    let book = next.book
    try check(bank.faults.now.isEmpty, "\(bank.faults.now)")
    try check(
      book.paid.sorted() == book.placed.sorted(), "\(book.placed) were placed, \(book.paid) paid")
    try check(next.dispatcher.pendingEffects.isEmpty, "\(next.dispatcher.pendingEffects)")
    try check(
      database.rows(ofStore: "dispatchstore.work", part: 2).isEmpty, "rows of done work are left")
    for (number, keys) in bank.charges.now {
      try check(keys.count == 1, "order \(number) was charged with the keys \(keys)")
    }
  }
}

extension Dispatcher {
  /// Waits until all work is done, for a bounded time.
  fileprivate func waitForWork() async {
    for _ in 0..<100 where !pendingEffects.isEmpty {
      try? await simulation!.clock.sleep(for: .seconds(1))
    }
  }
}

private struct Place: CodableAction { let number: Int }
private struct Paid: CodableAction { let number: Int }
private struct Remind: CodableAction { let number: Int }

private struct Book: ModelType, Codable {
  var placed: [Int] = []
  var paid: [Int] = []
}

private func makeOrders() -> HandlerStore<Book> {
  Store(identifier: "orders", model: Book()) {
    On(Place.self) { book, place in book.placed.append(place.number) }
    On(Paid.self) { book, paid in book.paid.append(paid.number) }
  }
}

/// An order, as it was drawn.
private struct Purchase: Sendable {
  let number: Int
  let mode: Dispatcher.Mode
  let isCancelled: Bool
  let hasDeadline: Bool

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    mode = [.async, .sync, .serial(lane: 0), .mainThread][simulation.draw(below: 4)]
    isCancelled = simulation.draw(below: 5) == 0
    hasDeadline = simulation.draw(below: 5) == 0
  }
}

/// The world outside, which outlives the process.
private final class Bank: Sendable {
  /// By order: the keys with which it was charged.
  let charges = Shared([Int: Set<String>]())
  let faults = Shared([String]())
}

private final class Cashier: Sendable {
  let dispatcher: Dispatcher
  private let orders: Store<Book, HandledAction>
  let charging: EffectRegistration
  let acknowledged = Shared([Int]())

  var book: Book { orders.model }

  init(_ dispatcher: Dispatcher, _ database: MemoryDatabase, _ bank: Bank) async throws {
    self.dispatcher = dispatcher
    dispatcher.onWarning { _ in }
    try await database.open(for: dispatcher, actions: ActionCoder(Place.self))
    orders = try await dispatcher.register(store: makeOrders(), persisted: .model)
    let calls = Shared(0)
    charging = dispatcher.register(
      effect: DurableEffect(
        "charge", on: Place.self, backoff: .none, maxConcurrentRuns: 2
      ) { place, context in
        calls.with { $0 += 1 }
        defer { calls.with { $0 -= 1 } }
        if calls.now > 2 { bank.faults.note("more than two calls at once") }
        let row = database.rows(ofStore: "orders", part: 0)[""] ?? ""
        let saved = try? JSONDecoder().decode(Book.self, from: Data(row.utf8))
        if saved?.placed.contains(place.number) != true {
          bank.faults.note("order \(place.number) is charged before it is saved")
        }
        await Task.yield()
        bank.charges.with { _ = $0[place.number, default: []].insert(context.key) }
        if context.attempt == 1, place.number % 2 == 0 { throw Broken(description: "try again") }
        return Paid(number: place.number)
      })
  }

  func run(_ purchases: [Purchase]) async {
    await concurrently(purchases) { await self.run($0) }
  }

  private func run(_ purchase: Purchase) async {
    let options: DispatchOptions =
      purchase.hasDeadline ? .timeout(.milliseconds(1)) : .named(purchase.number)
    let handle = dispatcher.dispatch(
      action: Place(number: purchase.number), mode: purchase.mode, options: options)
    if purchase.isCancelled { dispatcher.simulation!.startThread { handle.cancelWithEffects() } }
    if await handle.result.isSuccess { acknowledged.append(purchase.number) }
    await handle.settled()
  }
}

extension Scenario {
  /// Work that ends each process that attempts it.
  static let poison = Scenario(
    name: "poison", summary: "work that ends its process is a dead letter in the end"
  ) { dispatcher, simulation in
    let (database, begun) = (MemoryDatabase(), Shared(0))
    var letters: [DeadLetter] = []
    for number in 0..<5 {
      let process = simulation.makeDispatcher(name: "process")
      process.onWarning { _ in }
      try await database.open(for: process, actions: ActionCoder(Place.self))
      try await process.register(store: makeOrders(), persisted: .model)
      let isOver = Shared(false)
      process.register(
        effect: DurableEffect("poison", on: Place.self, attempts: 2, backoff: .none) { _, _ in
          let wasOver = isOver.with { isOver in
            defer { isOver = true }
            return isOver
          }
          if !wasOver {
            begun.with { $0 += 1 }
            database.crash()
          }
          throw Broken(description: "the process is gone")
        })
      if number == 0 { await process.dispatch(action: Place(number: 1)).ended() }
      process.resumeWork()
      try await simulation.clock.sleep(for: .seconds(10))
      letters = process.deadLetters
    }
    try check(begun.now == 3, "\(begun.now) processes have attempted it")
    try check(letters.map(\.attempts) == [2], "\(letters)")
  }

  /// Charges in memory, some of which fail, of a dispatcher that is closed meanwhile.
  static let closedWork = Scenario(
    name: "closed-work",
    summary: "what a drain leaves in memory is done, or a dead letter"
  ) { dispatcher, simulation in
    let office = simulation.makeDispatcher(name: "office")
    office.onWarning { _ in }
    let orders = office.register(store: makeOrders())
    office.register(
      effect: DurableEffect(
        "charge", on: Place.self, backoff: .constant(.seconds(1)), maxConcurrentRuns: 2
      ) { place, context in
        await Task.yield()
        if context.attempt <= place.number % 3 { throw Broken(description: "try again") }
        return Paid(number: place.number)
      })
    let time = Duration.seconds(Int64(simulation.draw(below: 3)))
    let isShutDown = simulation.draw(below: 2) == 0
    async let closing: Void = {
      try? await simulation.clock.sleep(for: time)
      simulation.startThread { isShutDown ? office.shutDown() : office.close() }
    }()
    await concurrently(1...6) { await office.dispatch(action: Place(number: $0)).ended() }
    await closing
    await office.drain()
    let book = orders.model
    let letters = numbers(of: office.deadLetters)
    try check(office.pendingEffects.isEmpty, "nobody does \(office.pendingEffects)")
    try check(
      (book.paid + letters).sorted() == book.placed.sorted(),
      "\(book.placed) were placed, \(book.paid) paid, and \(letters) are dead letters")
  }

  /// Charges and reminders that are refused for a while, whose dead letters are run again and removed meanwhile.
  static let deadLetters = Scenario(
    name: "dead-letters",
    summary: "a restart finds the dead letters that the process had, and no others"
  ) { dispatcher, simulation in
    let (database, refusals) = (MemoryDatabase(), Shared(2 + simulation.draw(below: 10)))
    let persistence = try await openOffice(dispatcher, database, refusals)
    let acts = (1...5).map { _ in simulation.draw(below: 3) > 0 }
    async let placed = concurrently(1...3) { number in
      await dispatcher.dispatch(action: Place(number: number), mode: .serial(lane: number)).result
    }
    async let reminded = concurrently(1...3) { number in
      let options = DispatchOptions.delayed(by: .milliseconds(1), name: "reminder \(number)")
      return await dispatcher.dispatch(action: Remind(number: 10 * number), options: options).result
    }
    await concurrently(acts) { removes in
      for _ in 0..<5 where dispatcher.deadLetters.isEmpty {
        try? await simulation.delay(upTo: .milliseconds(1))
      }
      for letter in dispatcher.deadLetters {
        if removes { dispatcher.remove(letter) } else { dispatcher.runAgain(letter) }
      }
    }
    _ = await (placed, reminded)
    await dispatcher.waitForWork()
    try check(dispatcher.pendingEffects.isEmpty, "nobody does \(dispatcher.pendingEffects)")
    // The end of the last run may come after its letter.
    try await simulation.clock.sleep(for: .seconds(1))
    try await persistence.flush()
    database.crash()
    let next = simulation.makeDispatcher(name: dispatcher.name)
    _ = try await openOffice(next, database, refusals)
    try check(next.pendingEffects.isEmpty, "\(next.pendingEffects) was done, or has failed")
    refusals.with { $0 = 0 }
    next.resumeWork()
    await next.drain()
    try check(
      refusals.now == 0, "\(-refusals.now) reminders were given, or have failed, and run again")
    let (left, found) = (numbers(of: dispatcher.deadLetters), numbers(of: next.deadLetters))
    try check(found == left, "\(left) were left, and \(found) found")
  }

  /// Charges that fail for ever, some of which are removed at some time.
  static let removedWork = Scenario(
    name: "removed-work", summary: "work that was removed is not attempted, also after a restart"
  ) { dispatcher, simulation in
    let (database, removed) = (MemoryDatabase(), Shared([Int: VirtualClock.Instant]()))
    let faults = Shared([String]())
    func open(_ dispatcher: Dispatcher) async throws -> (Persistence, paid: () -> [Int]) {
      dispatcher.onWarning { _ in }
      let persistence = try await database.open(for: dispatcher, actions: ActionCoder(Place.self))
      let orders = try await dispatcher.register(store: makeOrders(), persisted: .model)
      dispatcher.register(
        effect: DurableEffect(
          "charge", on: Place.self, attempts: nil, backoff: .constant(.seconds(1)),
          maxConcurrentRuns: 2
        ) { place, _ in
          // The attempt that was under way may have been about to call this.
          if let time = removed[place.number], time < simulation.clock.now {
            faults.note("order \(place.number) is charged after its removal")
          }
          if place.number == 0 { return Paid(number: 0) }
          try await simulation.clock.sleep(for: .milliseconds(500))
          throw Broken(description: "for ever")
        })
      return (persistence, { orders.model.paid })
    }
    @Sendable func removeAll() {
      for work in dispatcher.pendingEffects where dispatcher.remove(work) {
        removed[(work.action as! Place).number] = simulation.clock.now
      }
    }
    let (persistence, _) = try await open(dispatcher)
    let times = (1...4).map { _ in Duration.milliseconds(Int64(simulation.draw(below: 3_000))) }
    await withTaskGroup { group in
      for (number, time) in times.enumerated() {
        group.addTask {
          _ = await dispatcher.dispatch(action: Place(number: number)).result
        }
        group.addTask {
          try? await simulation.clock.sleep(for: time)
          removeAll()
        }
        // At once, as a piece of work begins.
        simulation.startThread(removeAll)
      }
    }
    try await persistence.flush()
    database.crash()
    let next = simulation.makeDispatcher(name: dispatcher.name)
    let (opened, paid) = try await open(next)
    next.resumeWork()
    try await simulation.clock.sleep(for: .seconds(10))
    try check(faults.now.isEmpty, "\(faults.now)")
    let left = next.pendingEffects.map { ($0.action as! Place).number }
    try check(
      (left + paid() + removed.now.keys).sorted() == [0, 1, 2, 3],
      "\(left) is left, \(paid()) paid, and \(removed.now) removed")
    for work in next.pendingEffects { next.remove(work) }
    try check(next.pendingEffects.isEmpty, "\(next.pendingEffects) was removed")
    await next.drain()
    try await opened.flush()
    try check(
      database.rows(ofStore: "dispatchstore.work", part: 2).isEmpty, "rows of removed work are left"
    )
  }

  /// Charges whose attempts fail in time, at the very end of their time, or not by themselves.
  static let attemptLimits = Scenario(
    name: "attempt-limits",
    summary: "an attempt of work is cancelled at its time limit, and none before"
  ) { dispatcher, simulation in
    let faults = Shared([String]())
    let limit = Duration.seconds(1)
    dispatcher.onWarning { _ in }
    let orders = dispatcher.register(store: makeOrders())
    let plans = (0..<4).map { _ in
      (0..<3).map { _ in [.milliseconds(500), limit, .seconds(60)][simulation.draw(below: 3)] }
    }
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: Place.self, attempts: 4, attemptTimeout: limit, backoff: .none,
        maxConcurrentRuns: 2
      ) { place, context in
        if context.attempt == 4 {
          try Task.checkCancellation()
          return Paid(number: place.number)
        }
        let (start, pause) = (simulation.clock.now, plans[place.number][context.attempt - 1])
        do { try await simulation.clock.sleep(for: pause) } catch {}
        let took = start.duration(to: simulation.clock.now)
        if took != min(pause, limit) {
          faults.note("an attempt that takes \(pause) was over after \(took)")
        }
        throw Broken(description: "try again")
      })
    await concurrently(0..<4) { await dispatcher.dispatch(action: Place(number: $0)).settled() }
    try check(faults.now.isEmpty, "\(faults.now)")
    try check(dispatcher.deadLetters.isEmpty, "\(dispatcher.deadLetters)")
    try check(orders.model.paid.sorted() == [0, 1, 2, 3], "\(orders.model.paid) are paid")
  }

  private static func numbers(of letters: [DeadLetter]) -> [Int] {
    letters.compactMap {
      ($0.action as? Place)?.number ?? ($0.action as? Remind)?.number
    }.sorted()
  }

  /// Registers an effect and a handler that fail so many times.
  private static func openOffice(
    _ dispatcher: Dispatcher, _ database: MemoryDatabase, _ refusals: Shared<Int>
  ) async throws -> Persistence {
    @Sendable func refuse() throws {
      if refusals.add(-1) >= 0 { throw Broken(description: "refused") }
    }
    dispatcher.onWarning { _ in }
    let persistence = try await database.open(
      for: dispatcher, actions: ActionCoder(Place.self, Remind.self))
    try await dispatcher.register(
      store: Store(identifier: "orders", model: Book()) {
        On(Place.self) { book, place in book.placed.append(place.number) }
        On(Remind.self) { book, remind in
          try refuse()
          book.paid.append(remind.number)
        }
      }, persisted: .model)
    dispatcher.register(
      effect: DurableEffect("charge", on: Place.self, attempts: 2, backoff: .none) { _, _ in
        try refuse()
        return nil
      })
    return persistence
  }
}
