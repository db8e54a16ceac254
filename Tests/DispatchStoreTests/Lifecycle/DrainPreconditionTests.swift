import DispatchStore
import Foundation
import Testing

struct DrainPreconditionTests {
  @Test func aDrainInsideADispatchStopsTheProgramAndNamesBoth() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let dispatcher = Dispatcher(name: "shop")
      dispatcher.addStage()
      await dispatcher.send(
        Script.suspends { _ in _ = await dispatcher.drain() }, mode: .serial)
    }
    #expect(result.message.contains("Dispatcher \"shop\" was drained"))
    #expect(result.message.contains("inside one of its dispatches"))
    #expect(result.message.components(separatedBy: "DrainPreconditionTests.swift").count == 3)
  }

  @Test func aLimitOfNothingStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = DispatchLimit(0, name: "none")
    }
    #expect(result.message.contains("The limit \"none\" was made with a bound of 0"))
  }

  @Test func aLimitOfNothingForLanesStopsTheProgramWhenItIsMade() async {
    await #expect(processExitsWith: .failure) { _ = DispatchLimits(perLane: 0) }
  }
}
