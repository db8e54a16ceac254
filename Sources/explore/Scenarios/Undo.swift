import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Transfers between three stores, and changes of one in two commits, which are undone and done again meanwhile.
  static let undo = Scenario(
    name: "undo", summary: "undo and redo go step by step, each in all of its stores at once"
  ) { dispatcher, simulation in
    let books = Books(dispatcher)
    let history = UndoHistory(of: books.stores[1], books.stores[0], books.stores[2])
    let entries = (1...6).map { BookEntry($0, simulation) }
    let moves = (0..<5).map { _ in
      (isUndo: simulation.draw(below: 3) > 0, mode: simulation.drawMode())
    }
    async let made = concurrently(entries) { await $0.make(dispatcher) }
    await concurrently(moves) { move in
      let handle = move.isUndo ? history.undo(mode: move.mode) : history.redo(mode: move.mode)
      let result = await handle.result
      if !result.isSuccess { books.faults.note("a step ended as \(result)") }
      books.check("a caller")
    }
    _ = await made
    let last = books.stores.map(\.model.plain)
    var steps = 0
    while history.canUndo, steps < 100 {
      await history.undo(mode: .sync).ended()
      books.check("an undo")
      steps += 1
    }
    let first = books.stores.map(\.model.plain)
    for _ in 0..<steps { await history.redo(mode: .sync).ended() }
    let again = books.stores.map(\.model.plain)
    try books.checkFaults()
    try check(first.allSatisfy { $0 == BookPage().plain }, "undone to \(first)")
    // A dispatch whose two commits have another step between them is two steps.
    let limit = entries.reduce(0) { $0 + ($1.store == nil ? 1 : 2) }
    try check(steps <= limit, "\(steps) steps, not \(limit)")
    try check(again == last, "done again: \(again), not \(last)")
  }

  /// Transfers that a recorder notes, while stores are set to an earlier state and back.
  static let recording = Scenario(
    name: "recording",
    summary: "a recorder notes each commit once, and goes back to a dispatch's end"
  ) { dispatcher, simulation in
    let recorder = DispatchRecorder(limit: 1_000)
    dispatcher.register(middleware: recorder)
    let books = Books(dispatcher)
    let entries = (1...6).map { BookEntry($0, simulation) }
    let results = Shared([Int: DispatchResult]())
    async let traveller: Void = books.travel(with: recorder)
    await concurrently(entries) { results[$0.number] = await $0.make(dispatcher) }
    await traveller
    try books.checkFaults()
    let log = recorder.log
    for entry in entries {
      let result = results[entry.number]!
      let isRefused = result.dispatchError?.code == .dispatcherPaused
      try check(result.isSuccess || isRefused, "\(entry) ended as \(result)")
      let noted = log.entries.filter { $0.id == result.dispatchID.number }
      try check(noted.count == (isRefused ? 0 : 1), "\(entry) is noted \(noted.count) times")
      for store in books.stores {
        let has = !isRefused && entry.changes(store.identifier)
        let path = "entries[\(entry.number)]"
        let places = log.entries.flatMap(\.stores).filter { $0.store == store.identifier }
          .flatMap(\.differences).filter { $0.path == path }
        try check(places.count == (has ? 1 : 0), "\(path) of \(store.identifier): \(places)")
        try check(
          (store.model.entries[entry.number] != nil) == has,
          "\(entry) left \(store.model.plain) in \(store.identifier)")
      }
    }
    for (place, page) in books.seen.now {
      let store = books.stores.first { $0.identifier == place.store }!
      let state = recorder.state(of: store, at: place.version)
      try check(state?.plain == page, "\(place) is \(String(describing: state)), not \(page)")
    }
  }
}

extension SimulationControl {
  fileprivate func drawMode() -> Dispatcher.Mode {
    [.sync, .sync, .async, .serial, .serial(lane: 1)][draw(below: 5)]
  }
}

/// A model whose balance is the sum of its entries, by whatever way it came about.
private struct BookPage: ModelType {
  var balance = 0
  var entries = TrackedDictionary<Int, Int>()

  struct Plain: Equatable { let balance: Int, entries: [Int: Int] }

  var plain: Plain { Plain(balance: balance, entries: entries.dictionary) }
  var isBalanced: Bool { balance == entries.values.reduce(0, +) }

  mutating func add(_ amount: Int, at number: Int) {
    entries[number, default: 0] += amount
    balance += amount
  }
}

/// A transfer from the first store to the others, in one step.
private struct BookTransfer: AtomicAction { let number: Int, amount: Int }

/// An entry of one store in two commits that add up to nothing.
private struct BookRound: ActionType { let number: Int, amount: Int }

private typealias BookStore = Store<BookPage, HandledAction>

/// A dispatch, as it was drawn.
private struct BookEntry: Sendable {
  let number: Int
  let amount: Int
  /// The only store, of a change in two commits.
  let store: String?
  let isSent: Bool
  let mode: Dispatcher.Mode

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    amount = 1 + simulation.draw(below: 9)
    store = [nil, nil, "a", "b"][simulation.draw(below: 4)]
    isSent = simulation.draw(below: 3) == 0
    mode = simulation.drawMode()
  }

  func changes(_ identifier: String) -> Bool { store == nil || store == identifier }

  func make(_ dispatcher: Dispatcher) async -> DispatchResult {
    if let store {
      let round = BookRound(number: number, amount: amount)
      return await dispatcher.result(of: round, to: store, mode: mode, isSent: isSent)
    }
    let transfer = BookTransfer(number: number, amount: amount)
    return await dispatcher.result(of: transfer, mode: mode, isSent: isSent)
  }
}

/// Three stores whose balances add up to nothing at any time.
private final class Books: Sendable {
  struct Place: Hashable { let store: String, version: UInt64 }

  let stores: [BookStore]
  let faults = Shared([String]())
  let seen = Shared([Place: BookPage.Plain]())
  private let dispatcher: Dispatcher
  private let tokens = Shared([ObserverToken]())

  init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
    stores = ["a", "b", "c"].map { name in
      dispatcher.register(
        store: BookStore(identifier: name, model: BookPage()) {
          On(BookTransfer.self) { page, transfer in
            page.add(transfer.amount * (name == "a" ? -2 : 1), at: transfer.number)
          }
          Perform(BookRound.self) { round, context in
            try context.updateModel { $0.add(round.amount, at: 100) }
            try context.updateModel {
              $0.add(-round.amount, at: 100)
              $0.entries[round.number] = 0
            }
          }
        })
    }
    for store in stores where dispatcher.simulation!.draw(below: 2) == 0 {
      store.undoesInPlace(\.entries)
    }
    for store in stores { observe(store) }
  }

  private func observe(_ store: BookStore) {
    let token = store.observe(.model) { [self] change in
      if !change.value.isBalanced { faults.note("\(store.identifier) is \(change.value.plain)") }
      let place = Place(store: store.identifier, version: change.version)
      if change.action != nil { seen[place] = change.value.plain }
    }
    tokens.append(token)
  }

  /// Notes a fault if what a reader sees is no state between two steps.
  func check(_ reader: String) {
    let (a, b, c) = dispatcher.snapshot(stores[0], stores[1], stores[2]).models
    let rounds = [a, b].map { $0.entries[100] ?? 0 }
    if a.balance + b.balance + c.balance != rounds[0] + rounds[1]
      || ![a, b, c].allSatisfy(\.isBalanced)
    {
      faults.note("\(reader) has seen \(a.plain), \(b.plain), \(c.plain)")
    }
  }

  func checkFaults() throws {
    if !faults.now.isEmpty { throw Broken(description: "\(faults.now)") }
    for token in tokens.now { token.cancel() }
  }

  /// Goes back to the ends of drawn dispatches, and to the present.
  func travel(with recorder: DispatchRecorder) async {
    let simulation = dispatcher.simulation!
    for _ in 0...simulation.draw(below: 3) {
      let entries = recorder.log.entries.filter { $0.kind == .action }
      if entries.isEmpty {
        await simulation.pass()
        continue
      }
      let entry = entries[simulation.draw(below: entries.count)]
      do {
        try await recorder.travel(to: entry.id!)
        let first = stores.map(\.model.plain)
        check("a traveller")
        await simulation.pass()
        if stores.map(\.model.plain) != first { faults.note("it changed meanwhile") }
        if simulation.draw(below: 2) == 0 { try await recorder.resume() }
      } catch {
        faults.note("\(error)")
      }
    }
    do { try await recorder.resume() } catch { faults.note("\(error)") }
  }
}

extension SimulationControl {
  /// Lets other threads of the simulation run.
  fileprivate func pass() async { for _ in 0..<5 { await Task.yield() } }
}
