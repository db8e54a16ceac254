import DispatchStore

/// Adds to each store of a ledger.
struct Shift: ActionType {
  var amount = 1
  /// The store whose reducer adds, and then throws.
  var failsIn: String?
}

/// The same by an action type that says that it is atomic.
struct AtomicShift: AtomicAction {
  var shift: Shift
}

/// The ways to say that a dispatch is atomic.
enum AtomicForm: CaseIterable {
  case option, type
}

struct ShiftFailure: Error, Equatable {}

/// Stores that answer `Shift` by a reduction each, in the order of their names.
final class AtomicLedger: Sendable {
  typealias Work = @Sendable (_ store: String, _ model: inout Int, _ shift: Shift) throws -> Void

  let dispatcher: Dispatcher
  let stores: [Store<Int, HandledAction>]

  init(
    _ names: [String] = ["a", "b", "c"], reads: StoreReads = .exclusive,
    dispatcher: Dispatcher = Dispatcher(), regardlessFrom first: Int = .max,
    _ work: @escaping Work = { _, _, _ in }
  ) {
    self.dispatcher = dispatcher
    stores = names.enumerated().map { index, name in
      @Sendable func reduce(_ model: inout Int, _ shift: Shift) throws {
        try work(name, &model, shift)
        model += shift.amount
        if shift.failsIn == name { throw ShiftFailure() }
      }
      return dispatcher.register(
        store: Store(identifier: name, model: 0, reads: reads) {
          On(withoutReply: Shift.self) { try reduce(&$0, $1) }
          On(withoutReply: AtomicShift.self) { try reduce(&$0, $1.shift) }
        },
        waitFor: WaitFor(
          names[..<index].map { $0 }, runsRegardless: index >= first))
    }
  }

  var models: [Int] { stores.map(\.model) }
  var versions: [UInt64] { stores.map(\.version) }

  func shift(
    _ shift: Shift = Shift(), _ form: AtomicForm = .option, _ way: Way = .all[0],
    options: DispatchOptions = [], then completion: (@Sendable (DispatchResult) -> Void)? = nil
  ) async -> DispatchResult {
    switch form {
    case .option:
      await dispatcher.run(shift, way, options: [.atomic, options], then: completion)
    case .type:
      await dispatcher.run(AtomicShift(shift: shift), way, options: options, then: completion)
    }
  }
}

extension DispatchResult {
  /// The codes of the stores' errors, "own" for an error of the program, and nil for a store that has finished.
  var codes: [String?] {
    stores.map { store in
      store.outcome.error.map { ($0 as? DispatchError)?.code.description ?? "own" }
    }
  }
}
