import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The state of exclusion keys")
struct ExclusionStateTests {
  private final class Member {
    let name: Int
    init(_ name: Int) { self.name = name }
  }

  private typealias State = ExclusionState<String, Member>

  private let members = (0..<6).map(Member.init)

  @Test func aMemberTakesAllKeysAtOnceOrNone() {
    var state = State()
    let entered = [
      state.enter(members[0], ["a"]), state.enter(members[1], ["a", "b"]),
      state.enter(members[2], ["c"]), state.enter(members[0], ["a"]),
      state.enter(members[1], ["a", "b"]),
    ]
    #expect(entered == [true, false, true, true, false])
    #expect(state.holder(of: "b") == nil && state.holder(of: "a") === members[0])
    let next = state.leave(members[0])
    #expect(next.map(\.name) == [1])
    #expect(state.holder(of: "b") === members[1])
    _ = state.leave(members[1])
    _ = state.leave(members[2])
    #expect(state.isEmpty)
  }

  @Test func oneThatOvertakesTakesWhatIsFreeAndReservesNothing() {
    var state = State()
    _ = state.enter(members[0], ["a"])
    _ = state.enter(members[1], ["a", "b"])
    _ = state.enter(members[2], ["b"])
    #expect(state.predecessor(of: members[2], at: "b") === members[1])
    var next = state.overtake(members[2])
    #expect(next.map(\.name) == [2])
    _ = state.enter(members[3], ["b", "c"])
    next = state.overtake(members[3])
    #expect(next.isEmpty && state.predecessor(of: members[3], at: "b") == nil)
    let isIn = state.enter(members[4], ["c"])
    #expect(isIn)
    next = state.leave(members[4])
    #expect(next.isEmpty)
    // Before the one that came first.
    next = state.leave(members[2])
    #expect(next.map(\.name) == [3])
    next = state.leave(members[0])
    #expect(next.isEmpty)
    next = state.leave(members[3])
    #expect(next.map(\.name) == [1])
    _ = state.leave(members[1])
    #expect(state.isEmpty)
  }

  @Test func knowsWhoHasTheKeysOfThoseBeforeAlsoThroughOthers() {
    var state = State()
    _ = state.enter(members[0], ["a"])
    _ = state.enter(members[1], ["d"])
    _ = state.enter(members[2], ["a", "b"])
    _ = state.enter(members[3], ["b", "c"])
    _ = state.enter(members[4], ["c"])
    _ = state.enter(members[5], ["c", "d"])
    #expect(state.holders(before: members[4]).map(\.name) == [0])
    #expect(state.holders(before: members[2]).isEmpty)
    // What comes later is before none of them.
    #expect(state.holders(before: members[5]).map(\.name) == [0])
    // All that wait need one key: its holder is their own.
    for index in [2, 3, 5] { _ = state.leave(members[index]) }
    #expect(state.holders(before: members[4]).isEmpty)
  }

  @Test func keepsNothingOfThoseThatNoLongerWait() {
    var state = State()
    _ = state.enter(members[0], ["a"])
    let waiting = (0..<10_000).map(Member.init)
    for member in waiting { _ = state.enter(member, ["a", "b"]) }
    for member in waiting.shuffled() { _ = state.leave(member) }
    let next = state.leave(members[0])
    #expect(next.isEmpty && state.isEmpty)
  }

  /// Beside a model that looks at all members each time.
  @Test(arguments: 0..<200)
  func doesWhatAPlainModelDoes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var state = State()
    var model = PlainExclusion()
    let members = (0..<12).map(Member.init)
    for _ in 0..<400 {
      let member = members[Int.random(in: 0..<12, using: &random)]
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        let next = state.overtake(member).map(\.name).sorted()
        #expect(next == model.overtake(member.name))
      case 1..<11:
        if model.contains(member.name) { continue }
        let keys = ["a", "b", "c", "d"].shuffled(using: &random).prefix(
          Int.random(in: 1...3, using: &random))
        let isIn = state.enter(member, Array(keys))
        #expect(isIn == model.enter(member.name, Set(keys)))
      default:
        let next = state.leave(member).map(\.name).sorted()
        #expect(next == model.leave(member.name))
      }
      for key in ["a", "b", "c", "d"] {
        #expect(state.holder(of: key)?.name == model.holder(of: key))
      }
    }
    for member in members { _ = state.leave(member) }
    #expect(state.isEmpty)
  }
}

/// Those that wait, in the order in which they are to go.
private struct PlainExclusion {
  private var holding: [(name: Int, keys: Set<String>)] = []
  private var overtaking: [(name: Int, keys: Set<String>)] = []
  private var waiting: [(name: Int, keys: Set<String>)] = []

  func contains(_ name: Int) -> Bool {
    (holding + overtaking + waiting).contains { $0.name == name }
  }

  func holder(of key: String) -> Int? { holding.first { $0.keys.contains(key) }?.name }

  mutating func enter(_ name: Int, _ keys: Set<String>) -> Bool {
    let isFree = (holding + waiting).allSatisfy { $0.keys.isDisjoint(with: keys) }
    if isFree { holding.append((name, keys)) } else { waiting.append((name, keys)) }
    return isFree
  }

  mutating func leave(_ name: Int) -> [Int] {
    guard contains(name) else { return [] }
    holding.removeAll { $0.name == name }
    overtaking.removeAll { $0.name == name }
    waiting.removeAll { $0.name == name }
    return settle()
  }

  mutating func overtake(_ name: Int) -> [Int] {
    guard let index = waiting.firstIndex(where: { $0.name == name }) else { return [] }
    overtaking.append(waiting.remove(at: index))
    return settle()
  }

  private mutating func settle() -> [Int] {
    var granted: [Int] = []
    for (name, keys) in overtaking where holding.allSatisfy({ $0.keys.isDisjoint(with: keys) }) {
      holding.append((name, keys))
      granted.append(name)
    }
    var before: Set<String> = []
    for (name, keys) in waiting {
      if holding.allSatisfy({ $0.keys.isDisjoint(with: keys) }), before.isDisjoint(with: keys) {
        holding.append((name, keys))
        granted.append(name)
      }
      before.formUnion(keys)
    }
    overtaking.removeAll { granted.contains($0.name) }
    waiting.removeAll { granted.contains($0.name) }
    return granted.sorted()
  }
}
