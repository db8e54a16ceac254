import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("Where and how a test store fails")
struct TestStoreFailurePlaceTests {
  @Test func pointsToTheLineOfTheAssertion() async {
    let line: UInt = #line
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      await testStore.send(.deposit(1))
      await testStore.receive(LedgerAction.entry("deposit"))
      testStore.store.updateModel { $0.owner = "Bob" }
      await testStore.finish()
    }
    #expect(caught.lines == [line + 3, line + 4, line + 6])
    #expect(caught.all.allSatisfy { "\($0.place.filePath)" == #filePath })
    #expect(caught.all.allSatisfy { "\($0.place.fileID)" == #fileID })
  }

  @Test func onReleaseItReportsWhatWasNotAssertedAtTheLineThatMadeIt() async {
    let latch = Latch()
    let line: UInt = #line
    let caught = await failures {
      let reducer = AccountReducer(between: { await latch.opened() })
      let testStore = AccountTest(reducer: reducer)
      let step = testStore.start(.depositInTwoSteps(1))
      await step.changes { $0.balance = 1 }
    }
    latch.open()
    #expect(
      caught.messages == [
        """
        The test store was released while 1 dispatch was under way:

          1 .depositInTwoSteps(1), serial → Account under way

        Await finish() at the end of the test.
        """
      ])
    #expect(caught.lines == [line + 3])
  }

  @Test func notesWhatItSkippedWhereShowSkippedIsSet() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer())
      testStore.exhaustivity = .off(showSkipped: true)
      await testStore.send(.depositAndLog(1))
      await testStore.receive(LedgerAction.entry("done"))
      await testStore.finish()
    }
    #expect(caught.messages.isEmpty)
    #expect(caught.notes.count == 2)
    #expect(caught.notes.last == "Skipped 2 .entry(\"deposit\").")
  }

  @Test func saysThatTheTaskWasCancelled() async {
    let latch = Latch()
    let caught = CaughtFailures()
    let waits = Latch()
    let task = Task {
      await withFailureHandler({ caught.add($0) }) {
        let reducer = AccountReducer(between: {
          waits.open()
          await latch.opened()
        })
        let testStore = AccountTest(reducer: reducer)
        let step = testStore.start(.depositInTwoSteps(1))
        await step.changes { $0.balance = 1 }
        await step.changes { $0.balance = 2 }
        latch.open()
        await testStore.recorder.endedCount(of: AccountAction.self, atLeast: 1)
      }
    }
    await waits.opened()
    task.cancel()
    await task.value
    let message = caught.messages.first ?? ""
    #expect(
      message.hasPrefix(
        """
        The task was cancelled while it waited for another change in .depositInTwoSteps(1). Under way:

          1 .depositInTwoSteps(1), serial → Account under way

        Dispatcher "test": 1 in flight, 0 of them waiting.
        """))
  }
}
