import Testing

@testable import DispatchStore

@Suite("The account of what follows a dispatch")
struct FollowUpTests {
  final class Part: FollowUpPart {
    let isCancelled = Recorder<Int>()
    func cancel() { isCancelled.record(0) }
  }

  /// An account, and what keeps it a dispatch's.
  private func make(in around: FollowUp? = nil) -> (FollowUp, FollowUp.Owner) {
    let followUp = FollowUp(in: around)
    return (followUp, FollowUp.Owner(followUp, isOwner: true))
  }

  @Test func endsWithItsLastPartAndMayBeginAnew() throws {
    let (followUp, owner) = make()
    let log = Recorder<Int>()
    followUp.whenEnded { log.record(0) }
    for round in 1...2 {
      let tickets = try (0..<2).map { _ in try #require(followUp.begin(Part())) }
      followUp.whenEnded { log.record(round) }
      followUp.end(tickets[0])
      #expect(log.count == round)
      followUp.end(tickets[1])
      #expect(log.count == round + 1)
    }
    withExtendedLifetime(owner) {}
  }

  @Test func isAPartOfWhatIsAroundItWhileItGoesOn() throws {
    let (outer, outerOwner) = make()
    let (inner, innerOwner) = make(in: outer)
    let log = Recorder<String>()
    for _ in 0..<2 {
      let ticket = try #require(inner.begin(Part()))
      outer.whenEnded { log.record("outer") }
      inner.whenEnded { log.record("inner") }
      #expect(log.all.isEmpty || log.count == 2)
      inner.end(ticket)
    }
    #expect(log.all == ["inner", "outer", "inner", "outer"])
    withExtendedLifetime((outerOwner, innerOwner)) {}
  }

  @Test func cancelsItsPartsAndLetsNoneBegin() throws {
    let (outer, outerOwner) = make()
    let (inner, innerOwner) = make(in: outer)
    let part = Part()
    _ = inner.begin(part)
    outer.cancel()
    #expect(part.isCancelled.count == 1)
    #expect(inner.begin(Part()) == nil && outer.begin(Part()) == nil)
    #expect(FollowUp(in: outer).begin(Part()) == nil)
    withExtendedLifetime((outerOwner, innerOwner)) {}
  }

  /// Each of a chain's actions is gone when the next but one is dispatched.
  @Test func aChainWithoutAnEndLeavesNothingBehind() throws {
    let (root, rootOwner) = make()
    weak var tenth: FollowUp?
    var (last, ticket) = (root, try #require(root.begin(Part())))
    for number in 0..<100_000 {
      let (next, owner) = make(in: last)
      if number == 10 { tenth = next }
      let began = try #require(next.begin(Part()))
      last.end(ticket)
      (last, ticket) = (next, began)
      withExtendedLifetime(owner) {}
    }
    #expect(tenth == nil)
    let log = Recorder<Int>()
    root.whenEnded { log.record(0) }
    #expect(log.count == 0)
    last.end(ticket)
    #expect(log.count == 1)
    withExtendedLifetime(rootOwner) {}
  }

  /// A program that keeps all handles.
  @Test func aLongChainEndsWithoutRecursion() throws {
    var chain: [(FollowUp, FollowUp.Owner)] = [make()]
    for _ in 0..<Load.count(100_000) { chain.append(make(in: chain.last?.0)) }
    let log = Recorder<Int>()
    var tickets: [FollowUp.Ticket] = []
    for (followUp, _) in chain { tickets.append(try #require(followUp.begin(Part()))) }
    for index in 0..<(chain.count - 1) { chain[index].0.end(tickets[index]) }
    chain[0].0.whenEnded { log.record(0) }
    #expect(log.count == 0)
    chain.last?.0.end(tickets.last!)
    #expect(log.count == 1)
    while !chain.isEmpty { chain.removeFirst(chain.count > 50_000 ? 50_000 : chain.count) }
  }
}
