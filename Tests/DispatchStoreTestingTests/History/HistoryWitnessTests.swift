import DispatchStoreTesting
import Testing

@Suite("Histories: witness")
struct HistoryWitnessTests {
  @Test func showsTheOrderAndTheMisfit() {
    let history = RegisterHistory.history(
      "a w1", "a ok", "b w2", "c r", "d w3", "b ok", "c 1", "a r", "a 1", "d ok", "a r", "a 9")
    #expect(
      "\(history.check(against: Register()))" == """
        Not linearizable, as of the return of #5 a: read → 1.
        Longest legal order, from 0:
          #1 a: write(1) → done    leaves 1
          #3 c: read → 1           leaves 1
          #2 b: write(2) → done    leaves 2
          #4 d: write(3), pending  leaves 3
        No place in it for:
          #5 a: read → 1: would be 2 or 3
        """)
  }

  @Test func saysWhatAnOperationThatFitsWouldSpoil() {
    let recorder = QueueHistory()
    let first = recorder.begin(.dequeue, on: "a")
    recorder.record(.enqueue("x"), on: "b") { "ok" }
    recorder.record(.dequeue, on: "b") { "x" }
    first.returned("x")
    #expect(
      "\(recorder.history.check(against: Queue()))" == """
        Not linearizable, as of the return of #1 a: dequeue → x.
        Longest legal order, from []:
          #2 b: enqueue(x) → ok  leaves ["x"]
          #1 a: dequeue → x      leaves []
        No place in it for:
          #3 b: dequeue → x: fits before #1, which would then be empty
        """)
  }

  @Test func saysWhatFollowsAMisfit() {
    let history = RegisterHistory.history("a w5", "b r", "b 5", "c r", "c 5", "d r", "a 9")
    #expect(
      "\(history.check(against: Register()))" == """
        Not linearizable, as of the return of #1 a: write(5) → 9.
        Longest legal order, from 0:
          (no operation)
        No place in it for:
          #1 a: write(5) → 9: would be done
          #2 b: read → 5: would be 0
          #3 c: read → 5: called after #2 had returned
        Not returned yet, and need no place:
          #4 d: read, pending
        """)
  }

  @Test func showsTheEndOfALongOrderAndNamesTheObject() {
    let recorder = TallyRecorder()
    for round in 1...6 {
      for store in ["a", "b"] {
        recorder.record(.dispatch(.add(round), to: store), on: "p\(round % 2)") { .finished }
        recorder.record(.read(store), on: "p\(round % 2)") {
          .model(Tally(count: store == "b" && round == 6 ? 15 : (1...round).reduce(0, +)))
        }
      }
    }
    #expect(
      "\(recorder.history.check())" == """
        Not linearizable for b, as of the return of #24 p0: b read → 15.
        Longest legal order, from 3:
          (after 3 operations)
          #8 p0: b read → 3            leaves 3
          #11 p1: b add(3) → finished  leaves 6
          #12 p1: b read → 6           leaves 6
          #15 p0: b add(4) → finished  leaves 10
          #16 p0: b read → 10          leaves 10
          #19 p1: b add(5) → finished  leaves 15
          #20 p1: b read → 15          leaves 15
          #23 p0: b add(6) → finished  leaves 21
        No place in it for:
          #24 p0: b read → 15: would be 21
        """)
  }

  @Test func isFoundForTheShortestPrefix() throws {
    let history = RegisterHistory.history(of: 400, seed: 3, wrongRead: 200)
    let witness = try #require(history.check(against: Register()).witness)
    let last = try #require(
      witness.prefix.operations.filter { $0.returned != nil }.max {
        $0.returned!.stamp < $1.returned!.stamp
      })
    #expect(last.returned?.response == .value(-1))
    #expect(witness.misfits.map(\.operation.number) == [last.number])
    let wrong = history.operations.filter { $0.returned?.response == .value(-1) }
    #expect(last.returned?.stamp == wrong.compactMap(\.returned?.stamp).min())
  }

  /// The search stops at the first read, which only a write with a wrong response, much later, explains.
  @Test func thePrefixMayEndLongAfterWhatStoppedTheSearch() throws {
    let history = RegisterHistory.history(
      "a w5", "b r", "b 5", "b r", "b 5", "b r", "b 5", "a 9", "b r", "b 5", "b r", "b 5",
      "b r", "b 5", "b r", "b 5", "b r", "b 5", "b r", "b 5", "b r", "b 5")
    let witness = try #require(history.check(against: Register()).witness)
    #expect(witness.prefix.operations.map(\.number) == [1, 2, 3, 4])
    #expect(witness.misfits.map(\.operation.number) == [1, 2, 3, 4])
  }
}
