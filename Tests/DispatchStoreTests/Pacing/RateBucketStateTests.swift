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

  @Test func aTokenThatIsNotUsedGoesToTheNext() {
    var state = state(1)
    let items = (0..<2).map { _ in Item() }
    for item in items { _ = state.enter(item, at: 0, mayWait: true) }
    state.leave(items[0], at: 0)
    let granted = state.settle(at: 0)
    #expect(granted.first === items[1])
    let isIn = state.comes(items[1], at: 0)
    #expect(isIn)
    state.leave(items[1], at: 0)
    #expect(state.next == Self.second, "It has begun, and so has used its token.")
  }

  @Test func tokensForWhichNobodyComesDoNotPileUp() {
    var state = state(1)
    let items = (0..<5).map { _ in Item() }
    for item in items { _ = state.enter(item, at: 0, mayWait: true) }
    var isIn = state.begin(items[0])
    #expect(isIn)
    for second in 1...4 {
      let granted = state.settle(at: Int64(second) * Self.second)
      #expect(granted.count == 1 && granted.first === items[second])
    }
    // They come at once, and begin at the rate, in their order, before one that comes now.
    isIn = state.comes(items[1], at: 4 * Self.second)
    #expect(isIn)
    for item in items[2...] + [Item()] {
      isIn = state.comes(item, at: 4 * Self.second)
      #expect(!isIn)
    }
    #expect(state.waitingCount == 4)
    for second in 5...7 {
      let granted = state.settle(at: Int64(second) * Self.second)
      #expect(granted.count == 1 && granted.first === items[second - 3])
      isIn = state.comes(items[second - 3], at: Int64(second) * Self.second)
      #expect(isIn)
    }
  }

  /// As one that has the token of one limit and waits for that of another.
  @Test func aTokenThatIsKeptLapsesOnceItsPlaceHasRefilled() {
    var state = state(1)
    let (keeps, other) = (Item(), Item())
    _ = state.enter(keeps, at: 0, mayWait: true)
    var isIn = state.takes(at: Self.second)
    #expect(isIn)
    isIn = state.comes(keeps, at: Self.second)
    #expect(!isIn, "Two would begin at once.")
    _ = state.enter(other, at: Self.second, mayWait: true)
    let granted = state.settle(at: 2 * Self.second)
    #expect(granted.count == 1 && granted.first === keeps)
    isIn = state.comes(keeps, at: 2 * Self.second)
    #expect(isIn)
  }

  @Test(arguments: [false, true])
  func aTokenThatHasLapsedDoesNotComeBack(mayWait: Bool) {
    var state = state(1)
    let item = Item()
    _ = state.enter(item, at: 0, mayWait: mayWait)
    var isIn = state.takes(at: Self.second)
    #expect(isIn)
    state.leave(item, at: Self.second)
    isIn = state.takes(at: Self.second)
    #expect(!isIn)
  }

  /// The call has decided.
  @Test func withRejectATokenIsKept() {
    var state = state(1)
    let item = Item()
    _ = state.enter(item, at: 0, mayWait: false)
    var isIn = state.takes(at: Self.second)
    #expect(isIn)
    guard case .token = state.enter(item, at: Self.second, mayWait: false) else {
      return #expect(Bool(false))
    }
    isIn = state.begin(item)
    #expect(isIn)
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
    // In tokens times the period: those that were not taken, and those of them that were not offered.
    var (level, free, now) = (burst * period, burst * period, Int64(0))
    var (waiting, returned): ([Item], [Item]) = ([], [])
    var holding: [(item: Item, hasTaken: Bool, end: Int64)] = []
    func settle() {
      while free >= period, !(waiting.isEmpty && returned.isEmpty) {
        let item = returned.isEmpty ? waiting.removeFirst() : returned.removeFirst()
        free -= period
        holding.append((item, false, now * count + burst * period - free))
      }
    }
    func take(_ item: Item) {
      level -= period
      free = min(free, level)
      holding.append((item, true, now * count + burst * period - level))
    }
    for _ in 0..<300 {
      switch Int.random(in: 0..<6, using: &dice) {
      case 0:
        let time = Int64.random(in: 0...period, using: &dice)
        now += time
        level = min(burst * period, level + time * count)
        free = min(burst * period, free + time * count)
      case 1, 2:
        let (item, mayWait) = (Item(), Bool.random(using: &dice))
        let entry = state.enter(item, at: now, mayWait: mayWait)
        if free >= period {
          free -= period
          take(item)
          guard case .token = entry else { return #expect(Bool(false), "\(entry)") }
        } else if mayWait {
          waiting.append(item)
        }
      case 3 where !waiting.isEmpty:
        state.leave(
          waiting.remove(at: Int.random(in: 0..<waiting.count, using: &dice)), at: now)
      default:
        guard !holding.isEmpty else { continue }
        let holder = holding.remove(at: Int.random(in: 0..<holding.count, using: &dice))
        let isValid = holder.end > now * count
        func giveBack() {
          guard isValid else { return }
          if holder.hasTaken { level = min(burst * period, level + period) }
          free = min(free + period, level)
        }
        if Int.random(in: 0..<3, using: &dice) == 0 {
          giveBack()
          state.leave(holder.item, at: now)
          break
        }
        let entry = state.enter(holder.item, at: now, mayWait: true)
        if holder.hasTaken, isValid {
          holding.append(holder)
        } else if level >= period {
          take(holder.item)
        } else {
          giveBack()
          returned.append(holder.item)
          guard case .waits = entry else { return #expect(Bool(false), "\(entry)") }
          break
        }
        guard case .token = entry else { return #expect(Bool(false), "\(entry)") }
        if Bool.random(using: &dice) {
          holding.removeLast()
          let isIn = state.begin(holder.item)
          #expect(isIn)
        }
      }
      let before = holding.count
      settle()
      let granted = state.settle(at: now)
      #expect(
        granted.map(ObjectIdentifier.init)
          == holding[before...].map { ObjectIdentifier($0.item) })
      #expect(state.waitingCount == waiting.count + returned.count)
      #expect(
        state.isIdle
          == (waiting.isEmpty && returned.isEmpty && holding.isEmpty && free == burst * period))
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

  /// Begins if there is a token; otherwise waits.
  fileprivate mutating func comes(_ item: Item, at time: Int64) -> Bool {
    guard case .token = enter(item, at: time, mayWait: true) else { return false }
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
