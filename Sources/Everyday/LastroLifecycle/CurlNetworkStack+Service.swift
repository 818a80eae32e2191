// SPDX-License-Identifier: Apache-2.0

public import LastroCurl
public import ServiceLifecycle

#if !Integrations
  #error("LastroLifecycle wants the trait Integrations: name it in `traits` of the dependency on Lastro")
#endif

/// The stack in a group of services, which ends it after the services that are named behind it.
///
/// ```swift
/// let group = ServiceGroup(services: [stack, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
extension CurlNetworkStack: Service {
  /// Serves as a `Service`: waits for the signal, takes no more fetches then, and returns when those in flight have
  /// ended.
  ///
  /// - Throws: `CancellationError` when the task is cancelled before the signal; the stack is not shut down then.
  public func run() async throws {
    try await gracefulShutdown()
    await shutDown()
  }
}
