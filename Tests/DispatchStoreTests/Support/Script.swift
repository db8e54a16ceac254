import DispatchStore

/// An action that carries what its store is to do.
struct Script: ActionType, CustomStringConvertible {
  typealias Stage = Store<[String], Script>
  typealias Operation = ActionOperation<[String], Script>
  typealias Running = RunningOperation<[String], Script>

  let description: String
  fileprivate let answer: @Sendable (Script, Stage) -> Operation

  /// What the reducer returns.
  static func answers(
    _ name: String = "script", _ answer: @escaping @Sendable (Script, Stage) -> Operation
  ) -> Script {
    Script(description: name, answer: answer)
  }

  /// A block that ends its operation by returning.
  static func runs(
    _ name: String = "script", _ block: @escaping @Sendable (Stage) throws -> Void
  ) -> Script {
    answers(name) { action, store in
      Operation(action: action, store: store) { _, store in try block(store) }
    }
  }

  /// A block that gets its operation, and finishes it.
  static func controls(
    _ name: String = "script", _ block: @escaping @Sendable (Running, Stage) throws -> Void
  ) -> Script {
    answers(name) { action, store in
      Operation(action: action, store: store) { operation, _, store in try block(operation, store) }
    }
  }

  /// An `async` block.
  static func suspends(
    _ name: String = "script", _ block: @escaping @Sendable (Stage) async throws -> Void
  ) -> Script {
    answers(name) { action, store in
      Operation(action: action, store: store) { _, store in try await block(store) }
    }
  }

  /// A block whose first run fails.
  static func failsOnce(noting attempts: Recorder<Int>) -> Script {
    runs { _ in
      attempts.record(0)
      if attempts.count == 1 { throw StageFright() }
    }
  }

  /// An `async` block that opens a latch, and goes on until another one opens.
  static func holds(opening began: Latch, until free: Latch) -> Script {
    suspends { _ in
      began.open()
      await free.opened()
    }
  }

  /// An `async` block that notes its begin, and goes on until it is cancelled, or the latch opens.
  static func holds(
    _ note: String = "began", in log: Recorder<String>, until free: Latch = Latch()
  ) -> Script {
    suspends { _ in
      log.record(note)
      await free.openedOrCancelled()
      try Task.checkCancellation()
    }
  }

  /// An `async` block that opens a latch, and ends only once it is cancelled.
  static func endless(opening began: Latch) -> Script {
    suspends { _ in
      began.open()
      try await Task.sleep(for: .seconds(3_600))
    }
  }

  /// A block that opens a latch, and blocks its thread until another one opens.
  static func blocks(opening began: Latch, until free: Latch) -> Script {
    runs { _ in
      began.open()
      free.wait()
    }
  }

  /// Adds its name to the store's model.
  static func adds(_ name: String) -> Script {
    runs(name) { store in store.updateModel { $0.append(name) } }
  }
}

typealias Stage = Script.Stage

/// Returns the operation that each script describes.
final class ScriptReducer: Reducer<[String], Script> {
  override func operation(for action: Script, in store: Stage) -> Script.Operation {
    action.answer(action, store)
  }
}

/// Makes a stage that a dispatcher has.
///
/// Suites bind both with `var`, because a struct can't bind two properties at once with `let`.
func makeStage(
  _ dispatcher: Dispatcher = Dispatcher()
) -> (dispatcher: Dispatcher, stage: Stage) {
  (dispatcher, dispatcher.addStage())
}

/// Dispatches what goes on until the latch opens, by a dispatcher of its own, so that others can wait for it.
func dispatchElsewhere(until free: Latch) -> DispatchHandle {
  makeStage().dispatcher.dispatch(action: Script.suspends { _ in await free.opened() })
}

extension Dispatcher {
  /// Registers a store that runs scripts.
  @discardableResult
  func addStage(_ identifier: String = "stage", waitFor: WaitFor = []) -> Stage {
    register(
      store: Stage(identifier: identifier, model: [], reducer: ScriptReducer()), waitFor: waitFor)
  }

  /// Records the warnings rather than writing them to standard error.
  func recordWarnings() -> Recorder<DispatchWarning.Kind> {
    let warnings = Recorder<DispatchWarning.Kind>()
    onWarning { warnings.record($0.kind) }
    return warnings
  }
}

/// An error that a store throws.
struct StageFright: Error, Equatable {
  var place = 0
}
