import Testing

@testable import DispatchStore

@Suite("The record of stalls")
struct StallRecordTests {
  /// So that an expectation may change it.
  private final class Record {
    private var value = StallRecord()

    func due(_ inFlight: [Stall], at now: Int64, limit: Int64) -> (due: [Stall], next: Int64) {
      value.due(inFlight, at: now, limit: limit)
    }

    func note(_ due: [Stall], in diagnosis: Diagnosis, at now: Int64, limit: Int64) -> Bool {
      value.note(due, in: diagnosis, at: now, limit: limit)
    }
  }

  private let record = Record()

  private func stall(_ number: UInt64, moved: Int64 = 0) -> Stall {
    Stall(id: DispatchID(rawValue: number), moved: moved)
  }

  /// A diagnosis of dispatches that run or wait, and of which each may wait for others.
  private func diagnosis(
    _ entries: [(waits: Bool, unmoved: Int64)], _ edges: [(Int, Int)] = [],
    isSuspended: Bool = false, waitingForTime: Set<Int> = []
  ) -> Diagnosis {
    Diagnosis(
      dispatcher: "d", isSuspended: isSuspended, hasTable: true,
      entries: entries.enumerated().map { index, entry in
        Diagnosis.Entry(
          number: index + 1, id: DispatchID(rawValue: UInt64(index + 1)), parent: nil,
          actions: [], names: [], mode: .serial, callSite: CallSite("A/B.swift", 1),
          age: .nanoseconds(entry.unmoved), timeUnmoved: .nanoseconds(entry.unmoved),
          isWaiting: entry.waits, states: [],
          waitsForQueue: entry.waits && !edges.contains { $0.0 == index + 1 },
          waitsForTime: waitingForTime.contains(index + 1))
      },
      edges: edges.map { Diagnosis.Edge(from: $0.0, to: $0.1, kind: .lane, label: "behind") },
      cycles: [])
  }

  @Test func isDueAtTheLimitAndAfterAReportAtTwiceThat() {
    let stalls = [stall(1)]
    #expect(record.due(stalls, at: 9, limit: 10).due == [])
    #expect(record.due(stalls, at: 9, limit: 10).next == 10)
    #expect(record.due(stalls, at: 10, limit: 10).due == stalls)
    #expect(record.note(stalls, in: diagnosis([(false, 10)]), at: 10, limit: 10))
    #expect(record.due(stalls, at: 19, limit: 10).due == [])
    #expect(record.due(stalls, at: 19, limit: 10).next == 20)
    #expect(record.note(stalls, in: diagnosis([(false, 20)]), at: 20, limit: 10))
    #expect(record.due(stalls, at: 20, limit: 10).next == 40)
    // Late by more than a doubling.
    #expect(record.note(stalls, in: diagnosis([(false, 90)]), at: 90, limit: 10))
    #expect(record.due(stalls, at: 90, limit: 10).next == 160)
  }

  @Test func isANewStallOnceItHasMoved() {
    #expect(record.note([stall(1)], in: diagnosis([(false, 10)]), at: 10, limit: 10))
    let moved = [stall(1, moved: 12)]
    #expect(record.due(moved, at: 21, limit: 10).due == [])
    #expect(record.due(moved, at: 22, limit: 10).due == moved)
    #expect(record.note(moved, in: diagnosis([(false, 10)]), at: 22, limit: 10))
  }

  @Test func isReportedOnceForAllThatWaitForTheOldest() {
    let stalls = [stall(1), stall(2), stall(3)]
    let taken = diagnosis([(false, 10), (true, 10), (true, 10)], [(2, 1), (3, 2)])
    #expect(record.note(stalls, in: taken, at: 10, limit: 10))
    // The others are looked at after a limit, the first one after twice the time.
    #expect(record.due(stalls, at: 19, limit: 10).due == [])
    #expect(record.due(stalls, at: 20, limit: 10).due.map(\.id.number) == [1, 2, 3])
    #expect(!record.note([stall(2), stall(3)], in: taken, at: 20, limit: 10))
    #expect(record.note([stall(1)], in: taken, at: 20, limit: 10))
  }

  @Test func isNoneWhereItWaitsForWhatMoves() {
    let moving = diagnosis([(false, 3), (true, 10)], [(2, 1)])
    #expect(!record.note([stall(2)], in: moving, at: 10, limit: 10))
    let stuck = diagnosis([(false, 13), (true, 20)], [(2, 1)])
    #expect(record.note([stall(1, moved: 7), stall(2)], in: stuck, at: 20, limit: 10))
  }

  /// The first one has got its token, and has not started yet.
  @Test func isNoneWhereItWaitsForOneThatMayBeAboutToStart() {
    let (stalls, edges) = ([stall(1), stall(2)], [(2, 1)])
    let free = diagnosis([(true, 10), (true, 10)], edges)
    #expect(!record.note(stalls, in: free, at: 10, limit: 10))
    // It has not started by the next look: then it is one, for both.
    #expect(record.note([stall(1)], in: free, at: 12, limit: 10))
  }

  @Test func isNoneWhereItMayBeAboutToStart() {
    // What it waited for has ended just now: it has a limit from then on.
    let moving = diagnosis([(false, 3), (true, 10)], [(2, 1)])
    #expect(!record.note([stall(2)], in: moving, at: 10, limit: 10))
    let free = diagnosis([(false, 13), (true, 20)])
    #expect(!record.note([stall(2)], in: free, at: 20, limit: 10))
    #expect(record.due([stall(2)], at: 20, limit: 10).next == 30)
    #expect(record.note([stall(2)], in: diagnosis([(false, 23), (true, 30)]), at: 30, limit: 10))
  }

  /// Nor are those behind it.
  @Test func isNoneWhereItWaitsForTime() {
    let waits = diagnosis([(true, 30), (true, 20)], [(2, 1)], waitingForTime: [1])
    for time: Int64 in [10, 20, 30] {
      #expect(!record.note([stall(1), stall(2)], in: waits, at: time, limit: 10))
    }
  }

  @Test func isLookedAtTwiceWhereItWaitsForNothingThatIsKnown() {
    let waits = diagnosis([(true, 16)])
    #expect(!record.note([stall(1)], in: waits, at: 16, limit: 16))
    #expect(record.due([stall(1)], at: 16, limit: 16).next == 18)
    #expect(record.note([stall(1)], in: waits, at: 18, limit: 16))
    // A suspended queue is known.
    let suspended = diagnosis([(true, 16)], isSuspended: true)
    #expect(Record().note([stall(1)], in: suspended, at: 16, limit: 16))
  }

  @Test func forgetsWhatHasEnded() {
    #expect(record.note([stall(1)], in: diagnosis([(false, 10)]), at: 10, limit: 10))
    _ = record.due([], at: 11, limit: 10)
    #expect(record.due([stall(1)], at: 12, limit: 10).due == [stall(1)])
    // One that has ended since it was found due is no reason.
    #expect(!record.note([stall(7)], in: diagnosis([(false, 1)]), at: 10, limit: 10))
  }
}
