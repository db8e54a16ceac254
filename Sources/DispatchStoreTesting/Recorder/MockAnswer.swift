public import DispatchStore

/// The response of a mock store to an action.
public struct MockAnswer<Model: Sendable, Action: ActionType>: Sendable {
  let perform: @Sendable (RunningOperation<Model, Action>, MockStore<Model, Action>.Held) -> Void

  /// Finishes without a change.
  public static var finish: MockAnswer {
    MockAnswer { operation, _ in operation.finish() }
  }

  /// Fails with an error.
  ///
  /// After a `CancellationError` the operation counts as cancelled.
  public static func fail(_ error: any Error) -> MockAnswer {
    MockAnswer { operation, _ in operation.finish(throwing: error) }
  }

  /// Changes the model, and finishes.
  public static func update(_ change: @escaping @Sendable (inout Model) -> Void) -> MockAnswer {
    MockAnswer { operation, _ in
      operation.updateModel(change)
      operation.finish()
    }
  }

  /// Performs another answer once the latch is open, on the thread that opens it.
  ///
  /// Blocks no thread until then, except that of a `.sync` caller.
  public static func after(_ latch: Latch, _ answer: MockAnswer = .finish) -> MockAnswer {
    MockAnswer { operation, held in latch.whenOpen { answer.perform(operation, held) } }
  }

  /// Stays unfinished, even when cancelled, until the mock store is released.
  ///
  /// Then it ends as cancelled.
  public static var never: MockAnswer {
    MockAnswer { operation, held in held.hold(operation) }
  }

  /// Calls the closure, which has to finish the operation, now or later.
  public static func run(
    _ body: @escaping @Sendable (RunningOperation<Model, Action>) -> Void
  ) -> MockAnswer {
    MockAnswer { operation, _ in body(operation) }
  }
}
