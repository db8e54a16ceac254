import Testing

@testable import DispatchStore

/// Distinguishes a reducer that answers with `reduce(into:action:)` alone from one that does more.
struct ReducerOverridesTests {
  private class Plain: Reducer<Int, Ping> {
    override func reduce(into model: inout Int, action: Ping) { model += 1 }
  }

  private class Operating: Plain {
    override func operation(
      for action: Ping, in store: Store<Int, Ping>
    ) -> ActionOperation<Int, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private class Applying: Plain {
    override func apply(_ action: Ping, to store: Store<Int, Ping>) throws {}
  }

  private final class ApplyingAndOperating: Applying {
    override func operation(
      for action: Ping, in store: Store<Int, Ping>
    ) -> ActionOperation<Int, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private final class Heir: Operating {}

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

  private final class GenericOperating<Model: Sendable>: Generic<Model, Ping> {
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
      []
    }
  }

  private final class Discreet: Plain {
    override func shouldNotifyObservers(for action: Ping, in store: Store<Int, Ping>) -> Bool {
      false
    }
  }

  @Test func isSeenInTheClassItselfAndInThoseAboveIt() {
    #expect(ReducerOverrides(of: Operating()).operation)
    #expect(ReducerOverrides(of: Heir()).operation)
    #expect(ReducerOverrides(of: Calling()).operation)
    #expect(ReducerOverrides(of: GenericOperating<String>()).operation)
    #expect(ReducerOverrides(of: Applying()).apply)
    #expect(ReducerOverrides(of: ApplyingAndOperating()).apply)
    #expect(ReducerOverrides(of: Waiting()).waitFor)
    #expect(ReducerOverrides(of: Discreet()).shouldNotifyObservers)
  }

  #if !canImport(ObjectiveC)
    @Test func oneThatOverridesNothingIsSeen() {
      #expect(ReducerOverrides(of: Reducer<Int, Ping>()).answersNothing)
      #expect(ReducerOverrides(of: Reducer<String, CounterAction>()).answersNothing)
      for reducer in [Plain(), Operating(), Heir(), Applying(), ApplyingAndOperating()] {
        #expect(!ReducerOverrides(of: reducer).answersNothing)
      }
      #expect(!ReducerOverrides(of: Generic<String, Ping>()).answersNothing)
    }

    @Test func whatIsNotOverriddenIsNotCalled() {
      for reducer in [Plain(), Reducer<Int, Ping>(), Waiting()] {
        #expect(!ReducerOverrides(of: reducer).operation)
      }
      #expect(!ReducerOverrides(of: Generic<String, Ping>()).operation)
      for reducer in [Plain(), Operating(), Heir(), Calling()] {
        #expect(!ReducerOverrides(of: reducer).waitFor)
      }
      #expect(ReducerOverrides.areKnown)
      for reducer in [Plain(), Operating(), Applying(), Waiting()] {
        #expect(!ReducerOverrides(of: reducer).shouldNotifyObservers)
      }
    }
  #endif
}
