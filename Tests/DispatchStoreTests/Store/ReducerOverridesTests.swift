import Testing

@testable import DispatchStore

/// A reducer that answers with `reduce(into:action:)` alone is told from one that does more.
struct ReducerOverridesTests {
  private class Plain: Reducer<Int, Ping> {
    override func reduce(into model: inout Int, action: Ping) { model += 1 }
  }

  private class Asked: Plain {
    override func operation(
      for action: Ping, in store: Store<Int, Ping>
    ) -> ActionOperation<Int, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private class Applied: Plain {
    override func apply(_ action: Ping, to store: Store<Int, Ping>) throws {}
  }

  private final class AppliedAndAsked: Applied {
    override func operation(
      for action: Ping, in store: Store<Int, Ping>
    ) -> ActionOperation<Int, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private final class Heir: Asked {}

  private final class Calling: Plain {
    override func operation(
      for action: Ping, in store: Store<Int, Ping>
    ) -> ActionOperation<Int, Ping> {
      super.operation(for: action, in: store)
    }
  }

  private class Generic<Model: Sendable, Action: ActionType>: Reducer<Model, Action> {
    override func reduce(into model: inout Model, action: Action) {}
  }

  private final class GenericAsked<Model: Sendable>: Generic<Model, Ping> {
    override func operation(
      for action: Ping, in store: Store<Model, Ping>
    ) -> ActionOperation<Model, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private final class Waiting: Plain {
    override func waitFor(
      for action: Ping, in store: Store<Int, Ping>, declared: WaitFor
    ) -> WaitFor {
      .none
    }
  }

  @Test func isSeenInTheClassItselfAndInThoseAboveIt() {
    #expect(ReducerOverrides(of: Asked()).operation)
    #expect(ReducerOverrides(of: Heir()).operation)
    #expect(ReducerOverrides(of: Calling()).operation)
    #expect(ReducerOverrides(of: GenericAsked<String>()).operation)
    #expect(ReducerOverrides(of: Applied()).apply)
    #expect(ReducerOverrides(of: AppliedAndAsked()).apply)
    #expect(ReducerOverrides(of: Waiting()).waitFor)
  }

  #if !canImport(ObjectiveC)
    @Test func whatIsNotOverriddenIsNotAskedFor() {
      for reducer in [Plain(), Reducer<Int, Ping>(), Waiting()] {
        #expect(!ReducerOverrides(of: reducer).operation)
      }
      #expect(!ReducerOverrides(of: Generic<String, Ping>()).operation)
      for reducer in [Plain(), Asked(), Heir(), Calling()] {
        #expect(!ReducerOverrides(of: reducer).waitFor)
      }
    }
  #endif
}
