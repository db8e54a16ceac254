import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Stores of one identifier come and go, one of them of another action type, and one held weakly.
  static let routes = Scenario(
    name: "routes",
    summary: "a dispatch reaches the stores that are there when it is made, and no other"
  ) { dispatcher, _ in
    dispatcher.onWarning { _ in }
    let runs = Shared([Int: [Int]]())
    let tenants = Tenants(dispatcher, runs)
    let letters = dispatcher.register(store: letterBox("letters"))
    let parcels = dispatcher.register(
      store: Store<Journal, Parcel>(identifier: "parcels", reducer: reducingTenant { _ in }))
    async let changes: Void = tenants.change()
    let senders = await concurrently(1...3) { producer in
      var sender = RouteSender(number: producer, dispatcher, tenants)
      for turn in 1...5 { await sender.take(turn) }
      return sender
    }
    await changes
    var last = RouteSender(number: 9, dispatcher, tenants)
    for turn in 1...5 { await last.take(turn) }
    for sent in (senders + [last]).flatMap(\.sent) {
      let ran = runs[sent.number] ?? []
      try check(
        sent.possible.contains { sent.fits($0, ran) },
        "\(sent): it ran in \(ran), and should have met one of \(sent.possible)")
      let stays = sent.isLetter ? letters.model.entries : parcels.model.entries
      try check(
        stays.count { $0 == sent.number } == (sent.isToOne ? 0 : 1), "\(sent): \(stays)")
      try check(sent.completions.now == 1, "\(sent) completed \(sent.completions.now) times")
    }
  }

  /// Registers stores for the same type of actions on several threads.
  static let registering = Scenario(
    name: "registering",
    summary: "a store gets the next dispatch after its registration, whoever registers beside it"
  ) { dispatcher, simulation in
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync]
    let faults = Shared([String]())
    await concurrently(0..<3) { worker in
      for number in 10 * worker..<10 * worker + 3 {
        let own = dispatcher.register(store: letterBox("\(number)"))
        await dispatcher.dispatch(
          action: Letter(number: number), mode: modes[simulation.draw(below: 3)]
        ).ended()
        let entries = own.model.entries
        if !entries.contains(number) { faults.note("store \(number) got \(entries)") }
        dispatcher.unregister(store: own)
      }
    }
    try check(faults.now.isEmpty, "\(faults.now)")
  }

  /// Closes a dispatcher while another thread registers stores.
  static let closedRegistering = Scenario(
    name: "closed-registering",
    summary: "nothing is accepted after close() has returned, whoever registers beside it"
  ) { dispatcher, simulation in
    let office = simulation.makeDispatcher(name: "office")
    office.onWarning { _ in }
    let stays = office.register(store: letterBox("stays"))
    async let registering: Void = {
      for round in 0..<3 {
        let own = office.register(store: letterBox("\(round)"))
        await Task.yield()
        office.unregister(store: own)
      }
    }()
    for number in 0..<3 { await office.dispatch(action: Letter(number: number)).ended() }
    office.close()
    let late = await office.dispatch(action: Letter(number: 9)).result
    await registering
    try check(late.dispatchError?.code == .dispatcherClosed, "the late letter: \(late)")
    try check(stays.model.entries == [0, 1, 2], "\(stays.model.entries)")
  }

  private static func letterBox(_ identifier: String) -> Store<Journal, Letter> {
    Store(identifier: identifier, reducer: reducingTenant { _ in })
  }
}

private struct Letter: Numbered {
  let number: Int
}

private struct Parcel: Numbered {
  let number: Int
}

/// Makes the reducer of a store that only reduces, which a thread calls from its route.
private func reducingTenant<Action: Numbered>(
  ran: @escaping @Sendable (Int) -> Void
) -> PlainReducer<Action> {
  PlainReducer { journal, action in
    ran(action.number)
    journal.entries.append(action.number)
  }
}

/// Makes the reducer of a store whose operations end at once, or have an `async` block.
private func operatingTenant<Action: Numbered>(
  ran: @escaping @Sendable (Int) -> Void
) -> BlockReducer<Action> {
  BlockReducer { action, store in
    entering(action.number, for: action, in: store, isAsync: action.number.isMultiple(of: 2)) {
      if $0 < 0 { ran(-$0) }
    }
  }
}

/// The store that is registered under the identifier `home` between two changes, if any.
private enum Tenant {
  case none
  /// A store of letters; its number.
  case letters(Int)
  case parcels(Int)
  /// A store of letters that is held weakly; perhaps it has been released since.
  case weak(Int, isReleased: Bool)
}

/// Registers and unregisters the stores, and keeps what each change has made of the registry.
private final class Tenants: Sendable {
  private let dispatcher: Dispatcher
  private let runs: Shared<[Int: [Int]]>
  /// The tenant after each change that has begun, in order, and the number of changes that have ended.
  private let history: Shared<(tenants: [Tenant], ended: Int)>

  init(_ dispatcher: Dispatcher, _ runs: Shared<[Int: [Int]]>) {
    self.dispatcher = dispatcher
    self.runs = runs
    history = Shared(([.letters(0)], 0))
    dispatcher.register(store: makeLetters(0, operatingTenant(ran: note(0))))
  }

  /// How many changes have ended.
  var ended: Int { history.now.ended }

  /// The tenants that a dispatch may have met since so many changes had ended.
  func possible(since ended: Int) -> [Tenant] {
    Array(history.now.tenants[ended...])
  }

  func change() async {
    let dispatcher = dispatcher
    make(.none) { dispatcher.unregister(storeIdentifier: "home") }
    make(.letters(1)) {
      dispatcher.register(store: makeLetters(1, reducingTenant(ran: note(1))))
    }
    await Task.yield()
    make(.none) { dispatcher.unregister(storeIdentifier: "home") }
    make(.parcels(2)) {
      dispatcher.register(
        store: Store<Journal, Parcel>(identifier: "home", reducer: operatingTenant(ran: note(2))))
    }
    await Task.yield()
    make(.none) { dispatcher.unregister(storeIdentifier: "home") }
    let weak = Shared(Optional(makeLetters(3, reducingTenant(ran: note(3)))))
    make(.weak(3, isReleased: false)) {
      dispatcher.register(store: weak.now!, ownership: .weak)
    }
    await Task.yield()
    make(.weak(3, isReleased: true)) {
      // Released outside of the lock, since its deinitialization takes steps.
      let released = weak.with { $0.take() }
      withExtendedLifetime(released) {}
    }
    make(.none) { dispatcher.unregister(storeIdentifier: "home") }
    make(.letters(4)) {
      dispatcher.register(store: makeLetters(4, operatingTenant(ran: note(4))))
    }
  }

  private func make(_ tenant: Tenant, _ change: () -> Void) {
    history.with { $0.tenants.append(tenant) }
    change()
    history.with { $0.ended += 1 }
  }

  private func makeLetters(
    _ number: Int, _ reducer: sending Reducer<Journal, Letter>
  ) -> Store<Journal, Letter> {
    Store(identifier: "home", reducer: reducer)
  }

  private func note(_ tenant: Int) -> @Sendable (Int) -> Void {
    { [runs] number in runs.append(tenant, at: number) }
  }
}

/// A dispatch, with what may have been registered when it was made.
private struct Routed: CustomStringConvertible {
  let number: Int
  let isLetter: Bool
  /// Whether it names the identifier.
  let isToOne: Bool
  let possible: [Tenant]
  let result: DispatchResult
  let completions: Shared<Int>

  var description: String {
    "\(isLetter ? "letter" : "parcel") \(number)\(isToOne ? " to home" : "") (\(result))"
  }

  /// Whether the result and the stores in which it ran are those that it has to have there.
  func fits(_ tenant: Tenant, _ ran: [Int]) -> Bool {
    switch tenant {
    case .none: isUnknown(ran)
    case .letters(let store): isLetter ? hasRun(ran, in: store) : hasNoResponder(ran)
    case .parcels(let store): isLetter ? hasNoResponder(ran) : hasRun(ran, in: store)
    case .weak(let store, let isReleased):
      isLetter
        ? hasRun(ran, in: store) || wasCancelled(ran) || isReleased && isUnknown(ran)
        : hasNoResponder(ran) || isReleased && isUnknown(ran)
    }
  }

  private func hasRun(_ ran: [Int], in store: Int) -> Bool {
    result["home"].isFinished == true && result.isSuccess && ran == [store] && namesOthers
  }

  private func wasCancelled(_ ran: [Int]) -> Bool {
    result["home"].isCancelled == true && ran.isEmpty && namesOthers
  }

  private var isNotInvolved: Bool {
    if case .notInvolved = result["home"] { true } else { false }
  }

  private func hasNoResponder(_ ran: [Int]) -> Bool {
    isNotInvolved && result.isSuccess && ran.isEmpty && namesOthers
  }

  private func isUnknown(_ ran: [Int]) -> Bool {
    guard isToOne else { return hasNoResponder(ran) }
    return result.stores.isEmpty && result.dispatchError?.code == .unknownStore && ran.isEmpty
  }

  private var namesOthers: Bool {
    result.stores.map(\.storeIdentifier).filter { $0 != "home" }
      == (isToOne ? [] : [isLetter ? "letters" : "parcels"])
  }
}

/// Dispatches by identifier and by action type, in all forms.
private struct RouteSender {
  let number: Int
  let dispatcher: Dispatcher
  let tenants: Tenants
  var sent: [Routed] = []

  init(number: Int, _ dispatcher: Dispatcher, _ tenants: Tenants) {
    (self.number, self.dispatcher, self.tenants) = (number, dispatcher, tenants)
  }

  mutating func take(_ turn: Int) async {
    let number = number * 10 + turn
    // Which identifier has been looked up first for which action type differs between the producers.
    switch (self.number + turn) % 5 {
    case 0, 3: await send(Letter(number: number), to: "home")
    case 1: await send(Parcel(number: number), to: "home")
    case 2: await send(Letter(number: number), to: nil)
    default: await send(Parcel(number: number), to: nil)
    }
  }

  private mutating func send(_ action: some Numbered, to identifier: String?) async {
    let completions = Shared(0)
    let completion: @Sendable (DispatchResult) -> Void = { _ in completions.with { $0 += 1 } }
    let ended = tenants.ended
    let (possible, result): ([Tenant], DispatchResult)
    if number == 2, action.number.isMultiple(of: 2) {
      result = await dispatcher.send(
        action, to: identifier, mode: action.number.isMultiple(of: 4) ? .async : .serial,
        then: completion
      ).result
      possible = tenants.possible(since: ended)
    } else {
      let mode: Dispatcher.Mode =
        number == 2 ? .sync : number == 3 ? .async : action.number % 4 == 1 ? .serial : .sync
      let handle = dispatcher.dispatch(
        action, to: identifier, mode: mode, then: completion)
      possible = tenants.possible(since: ended)
      result = await handle.result
    }
    sent.append(
      Routed(
        number: action.number, isLetter: action is Letter, isToOne: identifier != nil,
        possible: possible, result: result, completions: completions))
  }
}
