import DispatchStore
import DispatchStoreServer
import Hummingbird

struct Deliveries: ModelType { var places = TrackedDictionary<String, String>() }
struct Arrived: ActionType { let delivery: String, place: String }

func addDeliveries(to router: Router<BasicRequestContext>, _ dispatcher: Dispatcher) {
  let streams = StreamLimit(500)
  let deliveries = dispatcher.register(
    store: Store(identifier: "deliveries", model: Deliveries()) {
      On(Arrived.self) { deliveries, arrived in
        deliveries.places[arrived.delivery] = arrived.place
      }
    })
  router.get("/deliveries/:id/events") { _, context in
    let id = try context.decoded("id")
    let changes = deliveries.stream(
      .element(\.places, id), initial: true, buffering: .newest(1))
    return try Response.serverSentEvents(
      changes.map { change in
        ServerSentEvent(
          id: "\(change.version)", event: "place", data: change.value ?? "not sent yet")
      }, within: streams)
  }
}
