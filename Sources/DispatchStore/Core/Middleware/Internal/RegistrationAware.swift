/// A middleware that is told whether it is registered.
protocol RegistrationAware: Middleware {
  /// Notes that it was registered or unregistered, under the registry's lock and so in their order.
  func noteRegistration(_ isRegistered: Bool)
}
