import DispatchStore
import Testing

@testable import MainActorApp

@MainActor
@Suite(.timeLimit(.minutes(1)))
struct MainActorAppTests {
  @Test func anObserverOnTheMainQueueUpdatesMainActorState() async {
    let dispatcher = Dispatcher()
    let thermostat = Thermostat(dispatcher: dispatcher)
    thermostat.set(21)
    #expect(await thermostat.next() == 21)
    thermostat.set(50)
    #expect(await thermostat.next() == 30)
    #expect(thermostat.shown == [21, 30])
  }
}
