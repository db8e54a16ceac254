import DispatchStore
import Testing

#if !canImport(ObjectiveC)
  /// What a reducer that is to be a part does that a part must not.
  enum PartFault: String, CaseIterable, Codable {
    case operation = "operation(for:in:)"
    case apply = "apply(_:to:)"
    case waitFor = "waitFor(for:in:declared:)"
    case shouldNotifyObservers = "shouldNotifyObservers(for:in:)"
    case nothing = "reduce(into:action:)"
  }

  /// Where it is to be a part.
  enum PartPlace: String, CaseIterable, Codable {
    case part = "PartReducer"
    case forEach = "ForEachReducer"
    case combined = "CombinedReducer"
    case wrapped = "WrappedReducer"
  }

  private class ReducingPart: Reducer<Int, Ping> {
    override func reduce(into model: inout Int, action: Ping) { model += 1 }
  }

  private final class OperatingPart: ReducingPart {
    override func operation(for action: Ping, in store: ProbeStore) -> ActionOperation<Int, Ping> {
      ActionOperation(action: action, store: store) { _, _ in }
    }
  }

  private final class ApplyingPart: ReducingPart {
    override func apply(_ action: Ping, to store: ProbeStore) {}
  }

  private final class WaitingPart: ReducingPart {
    override func waitFor(
      for action: Ping, in store: ProbeStore, declared: WaitFor
    ) -> WaitFor { [] }
  }

  private final class DiscreetPart: ReducingPart {
    override func shouldNotifyObservers(for action: Ping, in store: ProbeStore) -> Bool { false }
  }

  extension PartFault {
    fileprivate func makeReducer() -> Reducer<Int, Ping> {
      switch self {
      case .operation: OperatingPart()
      case .apply: ApplyingPart()
      case .waitFor: WaitingPart()
      case .shouldNotifyObservers: DiscreetPart()
      case .nothing: Reducer<Int, Ping>()
      }
    }
  }

  extension PartPlace {
    fileprivate func make(_ reducer: Reducer<Int, Ping>) {
      switch self {
      case .part: _ = PartReducer<Int, Ping, Int, Ping>(\.self, action: { $0 }, reducer: reducer)
      case .forEach:
        _ = ForEachReducer<[String: Int], Ping, String, Int, Ping>(
          \.self, action: { ("a", $0) }, reducer: reducer)
      case .combined: _ = CombinedReducer(ReducingPart(), reducer)
      case .wrapped: _ = WrappedReducer(reducer) { try $2(&$0, $1) }
      }
    }
  }

  @Suite("A reducer as a part of another one", .timeLimit(.minutes(10)))
  struct ReducerPartTests {
    @Test(
      arguments: PartPlace.allCases, [PartFault.operation, .apply, .waitFor, .nothing])
    func thatDoesMoreThanReduceStopsTheProgramAndIsNamed(place: PartPlace, fault: PartFault) async {
      await expectStop(place, fault)
    }

    @Test(arguments: [PartPlace.part, .forEach])
    func ofAnotherModelThatHasASayInNotificationStopsTheProgramToo(place: PartPlace) async {
      await expectStop(place, .shouldNotifyObservers)
    }

    @Test func ofAnotherModelMayNotContainOneThatDoes() async {
      await #expect(processExitsWith: .failure) {
        PartPlace.part.make(
          CombinedReducer(ReducingPart(), WrappedReducer(DiscreetPart()) { try $2(&$0, $1) }))
      }
    }

    private func expectStop(_ place: PartPlace, _ fault: PartFault) async {
      let result = await #expect(
        processExitsWith: .failure, observing: [\.standardErrorContent]
      ) { [place, fault] in
        place.make(fault.makeReducer())
      }
      let name = "\(type(of: fault.makeReducer()))"
      #expect(result.message.contains("\(name) can't be a part of a \(place.rawValue)"))
      #expect(result.message.contains(fault.rawValue))
    }

    @Test(arguments: PartPlace.allCases)
    func thatOnlyReducesIsAccepted(place: PartPlace) {
      place.make(ReducingPart())
      place.make(
        CombinedReducer(ReducingPart(), WrappedReducer(ReducingPart()) { try $2(&$0, $1) }))
    }
  }
#endif
