import BenchmarkSupport
import DispatchStore
import Foundation

/// Keeps what is measured off the threads that the harness uses.
///
/// It blocks one of the few threads of the default quality of service while a batch runs: on two
/// processors, a concurrent queue of that quality would have a single one left.
enum HarnessThreads {
  static let avoiding = QualityOfService.userInitiated

  static func fixture<Action>(
    _ reducer: sending Reducer<Counter, Action>, width: Int? = nil
  ) -> Fixture<Action> {
    let fixture = Fixture(reducer, width: width)
    fixture.dispatcher.queue.qualityOfService = avoiding
    return fixture
  }

  static func taggedFixture(stores: Int) -> TaggedFixture {
    let fixture = TaggedFixture(stores: stores)
    fixture.dispatcher.queue.qualityOfService = avoiding
    return fixture
  }
}
