import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The state of a limit")
struct LimitStateTests {
  private final class Item {}
  private typealias State = LimitState<Item, Item>

  @Test func handsAUnitToTheFirstThatWaitsAndToNothingThatComesLater() {
    var state = State(bound: 1)
    let waiters = (0..<3).map { _ in Item() }
    var isIn = state.enter()
    #expect(isIn)
    for waiter in waiters { state.wait(waiter) }
    let hasEnded = state.endWait(waiters[0])
    #expect(hasEnded)
    #expect(state.waitingCount == 2)
    var next = state.leave()
    #expect(next === waiters[1])
    #expect(state.inFlight == 1)
    isIn = state.enter()
    #expect(!isIn)
    let isTooLate = !state.endWait(waiters[1])
    #expect(isTooLate)
    next = state.leave()
    #expect(next === waiters[2])
    next = state.leave()
    #expect(next == nil)
    #expect(state.inFlight == 0)
  }

  @Test func knowsTheOldestAndWhichMayBeDropped() {
    var state = State(bound: 3)
    let members = (0..<3).map { _ in Item() }
    for (index, member) in members.enumerated() {
      let isIn = state.enter()
      #expect(isIn)
      state.insert(member, at: Int64(index))
    }
    state.allowDropping(members[1])
    state.allowDropping(members[2])
    let first = state.takeDroppable()
    #expect(first === members[1])
    #expect(state.oldest == 0)
    let isRemoved = state.remove(members[0])
    #expect(isRemoved)
    #expect(state.oldest == 1)
    let isReplaced = state.replace(members[1])
    #expect(isReplaced)
    let isGone = !state.remove(members[1])
    #expect(isGone, "Its unit belongs to another one now.")
    #expect(state.droppedCount == 1)
    let second = state.takeDroppable()
    #expect(second === members[2])
    let third = state.takeDroppable()
    #expect(third == nil, "Each is given out once, and the first one may not be dropped.")
  }

  /// It may have left its unit by the time at which that is to be replaced: no other one has to be dropped then.
  @Test func oneThatWasDroppedAndHasLeftItsUnitIsReplacedTheSame() {
    var state = State(bound: 1)
    let member = Item()
    var isIn = state.enter()
    #expect(isIn)
    state.insert(member, at: 0)
    let isRemoved = state.remove(member)
    let next = state.leave()
    #expect(isRemoved && next == nil)
    var isReplaced = state.replace(member)
    #expect(isReplaced)
    #expect(state.inFlight == 1 && state.droppedCount == 1 && state.admittedCount == 1)
    isIn = state.enter()
    #expect(!isIn)
    isReplaced = state.replace(member)
    #expect(!isReplaced, "Another one has its unit.")
  }

  /// Beside a plain model of it.
  @Test(arguments: UInt64(0)..<200)
  func doesWhatAPlainModelDoes(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    let bound = Int.random(in: 1...4, using: &dice)
    var state = State(bound: bound)
    var (inFlight, waiting, members): (Int, [Item], [Item]) = (0, [], [])
    for _ in 0..<300 {
      switch Int.random(in: 0..<5, using: &dice) {
      case 0:
        let isIn = state.enter()
        #expect(isIn == (inFlight < bound && waiting.isEmpty))
        if isIn {
          inFlight += 1
          members.append(Item())
          state.insert(members.last!, at: 0)
        }
      case 1 where inFlight == bound:
        waiting.append(Item())
        state.wait(waiting.last!)
      case 2 where !waiting.isEmpty:
        let waiter = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &dice))
        let hasEnded = state.endWait(waiter)
        #expect(hasEnded)
      default:
        guard !members.isEmpty else { continue }
        let member = members.remove(at: Int.random(in: 0..<members.count, using: &dice))
        let isRemoved = state.remove(member)
        #expect(isRemoved)
        let next = state.leave()
        #expect(next === waiting.first)
        if waiting.isEmpty {
          inFlight -= 1
        } else {
          waiting.removeFirst()
          members.append(Item())
          state.insert(members.last!, at: 0)
        }
      }
      #expect(state.inFlight == inFlight && state.waitingCount == waiting.count)
      #expect(state.inFlight <= bound)
    }
  }
}
