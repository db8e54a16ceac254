import DispatchStore
import Foundation
import Testing

/// Where it shows: in the operations that the queue runs, and in the queue that they run on.
///
/// On Linux threads have no quality of service: `Thread.current.qualityOfService` is
/// `.default` everywhere, also in an operation that a queue runs.
@Suite("The queue's quality of service", .timeLimit(.minutes(10)))
struct QualityOfServiceTests {
  static let qualities: [QualityOfService] = [
    .background, .utility, .default, .userInitiated, .userInteractive,
  ]

  /// What a block sees of the queue that runs it.
  struct View: Equatable {
    var isDispatchersQueue: Bool
    var ofQueue: QualityOfService?
    var ofRunningOperations: [QualityOfService]
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, qualities)
  func isThatOfTheOperationsThatRunActions(
    _ mode: Dispatcher.Mode, _ quality: QualityOfService
  ) async {
    let queue = OperationQueue.wide(1)
    queue.qualityOfService = quality
    let (dispatcher, views) = (Dispatcher(queue: queue), Recorder<View>())
    dispatcher.addStage()
    let look = Script.runs { _ in
      views.record(
        View(
          isDispatchersQueue: OperationQueue.current === queue,
          ofQueue: OperationQueue.current?.qualityOfService,
          ofRunningOperations: queue.operations.filter(\.isExecuting).map(\.qualityOfService)))
    }
    let asItShouldBe = View(
      isDispatchersQueue: true, ofQueue: quality, ofRunningOperations: [quality])
    for _ in 0..<10 {
      _ = await dispatcher.dispatch(action: look, mode: mode).result
    }
    #expect(views.all == Array(repeating: asItShouldBe, count: 10))
  }

  // An operation queue does not retain its underlying queue.
  private static let underneath = DispatchQueue(
    label: "underneath", qos: .utility, attributes: .concurrent)

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func isThatOfTheQueueUnderneathAUsersOwn(_ mode: Dispatcher.Mode) async {
    let (key, underneath) = (DispatchSpecificKey<String>(), Self.underneath)
    underneath.setSpecific(key: key, value: "underneath")
    defer { underneath.setSpecific(key: key, value: nil) }
    let queue = OperationQueue()
    queue.underlyingQueue = underneath
    let (dispatcher, places) = (Dispatcher(queue: queue), Recorder<String?>())
    dispatcher.addStage()
    for _ in 0..<10 {
      _ = await dispatcher.dispatch(
        action: Script.runs { _ in places.record(DispatchQueue.getSpecific(key: key)) }, mode: mode
      ).result
    }
    #expect(places.all == Array(repeating: "underneath", count: 10))
  }

  @Test(arguments: [Dispatcher.Mode.sync, .mainThread])
  func doesNotTakeOtherModesToTheQueue(_ mode: Dispatcher.Mode) async {
    let queue = OperationQueue.wide(1)
    let (dispatcher, places) = (Dispatcher(queue: queue), Recorder<Bool>())
    dispatcher.addStage()
    _ = await dispatcher.dispatch(
      action: Script.runs { _ in places.record(OperationQueue.current === queue) }, mode: mode
    ).result
    #expect(places.all == [false])
  }
}
