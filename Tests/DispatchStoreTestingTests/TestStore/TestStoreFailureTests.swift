import DispatchStore
import DispatchStoreTesting
import Testing

/// The texts are those that docs/Testing.md shows.
@Suite("A failure of a test store")
struct TestStoreFailureTests {
  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsAChangeThatIsNotTheExpectedOne(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      await testStore.send(.deposit(10)) { $0.balance = 12 }
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        The model of store "Account" after .deposit(10) is not the expected one:

          Account(
            … 1 unchanged
        −   balance: 12
        +   balance: 10
          )

        (− expected, + actual)
        """
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsAChangeThatWasNotAsserted(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      await testStore.send(.deposit(10))
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        The model of store "Account" changed in .deposit(10), and that was not asserted:

          Account(
            … 1 unchanged
        −   balance: 0
        +   balance: 10
          )

        (− before, + after)
        """
      ])
  }

  @Test func saysThatNoStoreHasRunTheAction() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      testStore.dispatcher.unregister(store: testStore.store)
      await testStore.send(.deposit(1)) { $0.balance = 1 }
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.hasSuffix("\n\nNo store has run .deposit(1).") == true)
  }

  @Test func showsDispatchesWhoseTimeHasNotCome() async {
    let caught = await failures {
      let testStore = AccountTest(
        reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: VirtualClock()))
      testStore.dispatcher.dispatch(
        action: AccountAction.deposit(1), options: .delayed(by: .seconds(60)))
      await testStore.finish()
    }
    #expect(
      caught.messages.map(withoutLines) == [
        """
        Nothing goes on, and this has not ended:

          .deposit(1), dispatched at DispatchStoreTestingTests/TestStoreFailureTests.swift:LINE, whose time has not come

        Advance the dispatcher's clock and await the end, cancel it, or set exhaustivity to .off.
        """
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsActionsThatWereNotReceived(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.finish()
    }
    #expect(
      caught.messages.map(withoutLines) == [
        """
        2 actions followed, and the test did not receive them:

          .entry("deposit"), because of .depositAndLog(1), dispatched at \
        DispatchStoreTestingTests/Bank.swift:LINE
          .entry("done"), because of .entry("deposit"), dispatched at \
        DispatchStoreTestingTests/Bank.swift:LINE

        Receive each with receive(_:), or set exhaustivity to .off.
        """
      ])
  }

  @Test func namesActionsByTheirDescription() async {
    struct Order: ActionType, CustomStringConvertible {
      let secret = "1234"
      var description: String { "an order" }
    }
    final class OrderReducer: Reducer<Int, Order> {
      override func reduce(into count: inout Int, action: Order) { count += 1 }
    }
    let caught = await failures {
      let testStore = TestStore(Store(model: 0, reducer: OrderReducer()))
      await testStore.send(Order())
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("changed in an order, and") == true)
    #expect(caught.messages.first?.contains("1234") == false)
  }

  @Test func showsAnActionThatWasNotReceivedBeforeTheNextOneIsSent() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("deposit"))
      await testStore.send(.withdraw(1)) { $0.balance = 0 }
      await testStore.finish()
    }
    #expect(
      caught.messages.map(withoutLines) == [
        """
        1 action followed, and the test did not receive it before .withdraw(1) was sent:

          .entry("done"), because of .entry("deposit"), dispatched at \
        DispatchStoreTestingTests/Bank.swift:LINE

        Receive each with receive(_:), or set exhaustivity to .off.
        """
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsAnotherActionThanTheExpectedOne(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("withdrawal"))
      await testStore.receive(AccountAction.self)
      await testStore.finish()
    }
    #expect(
      caught.messages.map(withoutLines) == [
        """
        Another action followed than the expected one:

          .entry(
        −   "withdrawal"
        +   "deposit"
          )

        (− expected, + received: because of .depositAndLog(1), dispatched at \
        DispatchStoreTestingTests/Bank.swift:LINE)
        """,
        """
        Another action followed than the expected one:

        − an action of type AccountAction
        + .entry("done"), of type LedgerAction

        (− expected, + received: because of .entry("deposit"), dispatched at \
        DispatchStoreTestingTests/Bank.swift:LINE)
        """,
      ])
  }

  /// The other action ends once the latch is open, and changes the model before that and after it.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func showsAnotherActionThanTheExpectedOneBeforeThatEnds(mode: Dispatcher.Mode) async {
    let latch = Latch()
    let caught = await failures {
      let testStore = AccountTest(
        reducer: AccountReducer(between: { await latch.opened() }), mode: mode)
      testStore.dispatcher.dispatch(action: AccountAction.depositInTwoSteps(1), mode: mode)
      await testStore.receive(.withdraw(1))
      latch.open()
      await testStore.recorder.endedCount(of: AccountAction.self, atLeast: 1)
      await testStore.send(.deposit(5)) { $0.balance += 5 }
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains(".depositInTwoSteps(") == true)
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func saysThatNoActionFollowed(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      await testStore.send(.deposit(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("deposit"))
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        Expected to receive .entry("deposit"), but nothing more followed: the dispatcher is idle.
        """
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsAnotherEndThanTheExpectedOne(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      await testStore.send(.withdraw(60))
      await testStore.send(.deposit(60), ending: .failure(Overdrawn.self)) { $0.balance = 60 }
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        .withdraw(60) did not end as expected:

        − success
        + failure: Overdrawn(missing: 60)

        (− expected, + actual)
        """,
        """
        .deposit(60) did not end as expected:

        − failure: Overdrawn
        + success

        (− expected, + actual)
        """,
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsEndsThatWereNotAsserted(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      _ = testStore.start(.withdraw(60))
      _ = testStore.start(.deposit(0))
      await testStore.finish()
      // Each is reported once.
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        2 actions have ended, and the test did not assert how:

          .withdraw(60): failure: Overdrawn(missing: 60)
          .deposit(0): success

        Await ends(_:_:) of each step, or set exhaustivity to .off.
        """
      ])
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func showsAnUnassertedChangeBeforeTheNextActionIsSent(mode: Dispatcher.Mode) async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
      testStore.store.updateModel { $0.owner = "Bob" }
      await testStore.send(.deposit(1)) { $0.balance = 1 }
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        The model of store "Account" changed outside of dispatches, and that was not asserted:

          Account(
        −   owner: "Ann"
        +   owner: "Bob"
            … 1 unchanged
          )

        (− before, + after)
        """
      ])
  }

  @Test func reportsAClosureThatChangesNothing() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      await testStore.send(.deposit(0)) { $0.balance = 0 }
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        The model of store "Account" did not change in .deposit(0), and the closure changes nothing \
        either. Omit the closure.
        """
      ])
  }

  @Test func namesTheActionOfAnUnassertedChangeAlsoIfItsStoreIsWatchedTwice() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      let ledger = testStore.dispatcher.addLedger()
      testStore.watch(ledger)
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("deposit"))
      await testStore.receive(LedgerAction.entry("done"))
      testStore.watch(ledger)
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(
      caught.messages.first?.contains("changed in .entry(\"deposit\"), in .entry(\"done\"), and")
        == true)
  }

  @Test func saysThatAStoreToWatchIsOfAnotherDispatcher() async {
    let other = Dispatcher(name: "other")
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      testStore.watch(other.addLedger())
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        Store "ledger" is registered with dispatcher "other", whose actions this test store does \
        not record. Register a store with testStore.dispatcher, and watch that.
        """
      ])
    withExtendedLifetime(other) {}
  }

  @Test func showsChangesOfAWatchedStoreThatWereNotAsserted() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      testStore.watch(testStore.dispatcher.addLedger())
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("deposit"))
      await testStore.receive(LedgerAction.entry("done"))
      await testStore.finish()
    }
    #expect(
      caught.messages == [
        """
        The model of store "ledger" changed in .entry("deposit"), in .entry("done"), and that \
        was not asserted:

          Ledger(
            lines: [
        +     [0]: Line(text: "deposit")
        +     [1]: Line(text: "done")
            ]
          )

        (− before, + after)
        """
      ])
  }
}

/// Replaces line numbers, which change with the file.
private func withoutLines(_ text: String) -> String {
  text.replacing(#/swift:[0-9]+/#, with: "swift:LINE")
}
