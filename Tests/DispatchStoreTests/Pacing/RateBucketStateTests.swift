import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The state of a rate limit's bucket")
struct RateBucketStateTests {
  private typealias State = RateBucketState<Item>
  private static let second: Int64 = 1_000_000_000

  private func state(_ count: Int, per period: Int64 = second, burst: Int? = nil) -> State {
    State(TokenRule(count: count, period: period, burst: burst ?? count))
  }

  @Test func letsABurstBeginAndThenAsManyAsItsRate() {
    var state = state(2, burst: 3)
    var begun: [Int64] = []
    for tenth in Int64(0)...20 {
      for _ in 0..<5 where state.takes(at: tenth * Self.second / 10) { begun.append(tenth) }
    }
    #expect(begun == [0, 0, 0, 5, 10, 15, 20])
  }

  @Test func saysAfterWhichTimeOneMayBegin() {
    var state = state(1)
    var isIn = state.takes(at: 0)
    #expect(isIn)
    let entry = state.enter(Item(), at: Self.second / 4, mayWait: false)
    guard case .refused(let time) = entry else { return #expect(Bool(false), "\(entry)") }
    #expect(time == Self.second * 3 / 4)
    isIn = state.takes(at: Self.second - 1)
    #expect(!isIn)
    isIn = state.takes(at: Self.second)
    #expect(isIn)
  }

  /// Three in a second are one each 333,333,333⅓ nanoseconds.
  @Test(arguments: [1, 3, 7, 1_000, 999_999_937])
  func noRoundingAddsUp(count: Int) {
    var state = state(count, burst: 2)
    var (now, taken) = (Int64(0), 0)
    while taken < 3_000 {
      switch state.enter(Item(), at: now, mayWait: false) {
      case .token: taken += 1
      case .refused(let time): now += time
      case .waits: return #expect(Bool(false))
      }
      _ = state.settle(at: now)
    }
    // After the burst, with the first nanosecond at which so many tokens have come.
    let exact = (Int128(taken - 2) * Int128(Self.second) + Int128(count) - 1) / Int128(count)
    #expect(Int128(now) == exact)
  }

  @Test func tokensThatComeGoToThoseThatWaitInTheirOrder() {
    var state = state(1)
    let items = (0..<4).map { _ in Item() }
    for item in items { _ = state.enter(item, at: 0, mayWait: true) }
    #expect(state.waitingCount == 3)
    var granted = state.settle(at: Self.second - 1)
    #expect(granted.isEmpty)
    for index in 1...2 {
      granted = state.settle(at: Int64(index) * Self.second)
      #expect(granted.count == 1 && granted.first === items[index])
    }
    #expect(state.next == 3 * Self.second)
    let isIn = state.takes(at: 3 * Self.second)
    #expect(!isIn, "One waits for that token.")
  }

  @Test func aPlaceInTheLineGoesToTheNext() {
    var state = state(1)
    let items = (0..<3).map { _ in Item() }
    for item in items { _ = state.enter(item, at: 0, mayWait: true) }
    state.leave(items[1])
    #expect(state.waitingCount == 1)
    let granted = state.settle(at: Self.second)
    #expect(granted.first === items[2])
  }

  @Test func aTokenThatIsNotUsedGoesToTheNext() {
    var state = state(1)
    let items = (0..<2).map { _ in Item() }
    for item in items { _ = state.enter(item, at: 0, mayWait: true) }
    state.leave(items[0])
    let granted = state.settle(at: 0)
    #expect(granted.first === items[1])
    let hasBegun = state.begin(items[1])
    #expect(hasBegun)
    state.leave(items[1])
    #expect(state.next == Self.second, "It has begun, and so has used its token.")
  }

  @Test func isIdleOnceItIsFullAndNothingHasItsTokens() {
    var state = state(2)
    let item = Item()
    _ = state.enter(item, at: 0, mayWait: true)
    #expect(state.next == Self.second / 2)
    _ = state.settle(at: Self.second)
    #expect(!state.isIdle && state.next == nil)
    _ = state.begin(item)
    #expect(state.isIdle)
  }

  @Test func anEarlierTimeCountsAsTheLatestOne() {
    var state = state(1)
    var isIn = state.takes(at: 5 * Self.second)
    #expect(isIn)
    isIn = state.takes(at: 0)
    #expect(!isIn)
    #expect(state.next == 6 * Self.second)
  }

  @Test(arguments: [1, Int.max], [1, Int64.max])
  func hugeNumbersOverflowNothing(count: Int, period: Int64) {
    var state = state(count, per: period, burst: count)
    for time in [0, 1, Int64.max / 2, .max, .max] {
      _ = state.enter(Item(), at: time, mayWait: true)
      _ = state.settle(at: time)
      _ = state.next
    }
    #expect(count == 1 || state.waitingCount == 0)
  }

  /// Beside a bucket that counts tokens.
  @Test(arguments: UInt64(0)..<200)
  func doesWhatAPlainModelDoes(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    let count = Int64.random(in: 1...5, using: &dice)
    let burst = Int64.random(in: 1...4, using: &dice)
    let period = Int64.random(in: 1...20, using: &dice)
    var state = state(Int(count), per: period, burst: Int(burst))
    // In tokens times the period.
    var (level, now) = (burst * period, Int64(0))
    var (waiting, holding): ([Item], [Item]) = ([], [])
    func settle() {
      while level >= period, !waiting.isEmpty {
        level -= period
        holding.append(waiting.removeFirst())
      }
    }
    for _ in 0..<300 {
      switch Int.random(in: 0..<5, using: &dice) {
      case 0:
        let time = Int64.random(in: 0...period, using: &dice)
        now += time
        level = min(burst * period, level + time * count)
      case 1, 2:
        let (item, mayWait) = (Item(), Bool.random(using: &dice))
        let entry = state.enter(item, at: now, mayWait: mayWait)
        settle()
        if level >= period {
          level -= period
          holding.append(item)
          guard case .token = entry else { return #expect(Bool(false), "\(entry)") }
        } else if mayWait {
          waiting.append(item)
        }
      case 3 where !waiting.isEmpty:
        state.leave(waiting.remove(at: Int.random(in: 0..<waiting.count, using: &dice)))
      default:
        guard !holding.isEmpty else { continue }
        let item = holding.remove(at: Int.random(in: 0..<holding.count, using: &dice))
        if Bool.random(using: &dice) {
          _ = state.begin(item)
        } else {
          level = min(burst * period, level + period)
          state.leave(item)
        }
      }
      let before = holding.count
      settle()
      let granted = state.settle(at: now)
      #expect(
        granted.map(ObjectIdentifier.init) == holding[before...].map(ObjectIdentifier.init))
      #expect(state.waitingCount == waiting.count)
      #expect(state.isIdle == (waiting.isEmpty && holding.isEmpty && level == burst * period))
    }
  }
}

private final class Item {}

extension RateBucketState<Item> {
  /// Takes a token for something that begins at once.
  fileprivate mutating func takes(at time: Int64) -> Bool {
    let item = Item()
    guard case .token = enter(item, at: time, mayWait: false) else { return false }
    return begin(item)
  }
}

@Suite("A line that anyone may leave")
struct WaitingLineTests {
  @Test func comesToAnEndInTheOrderInWhichItWasJoined() {
    var line = WaitingLine<Item>()
    let items = (0..<200).map { _ in Item() }
    for item in items { line.append(item) }
    for item in items where item !== items[77] && item !== items[199] {
      let wasThere = line.remove(item)
      #expect(wasThere)
    }
    let isGone = !line.remove(items[0])
    #expect(isGone && line.count == 2)
    let first = line.popFirst()
    let second = line.popFirst()
    let third = line.popFirst()
    #expect(first === items[77] && second === items[199] && third == nil)
  }

  @Test func keepsNothingOfWhatHasLeft() {
    let deaths = EventCount(of: 1_000)
    var line = WaitingLine<Mortal>()
    let last = Mortal(EventCount(of: 1))
    for _ in 0..<1_000 {
      let mortal = Mortal(deaths)
      line.append(mortal)
      _ = line.remove(mortal)
    }
    line.append(last)
    #expect(deaths.count == 1_000)
    #expect(line.contains(last))
  }
}
