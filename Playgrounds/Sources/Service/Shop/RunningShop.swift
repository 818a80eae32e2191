// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroLifecycle
import Logging
import ServiceLifecycle

/// The whole service, put together as in the `main.swift` of a real one.
struct RunningShop: Sendable {
  let front: ShopFront
  let pins: ServerTrustEvaluator
  private let group: ServiceGroup

  init(_ settings: ShopSettings) throws {
    let metrics = PrometheusMetrics()
    let stacks = try ShopStacks(settings, metrics: metrics)
    pins = stacks.pins
    front = try ShopFront(try Shop(stacks, settings), metrics: metrics)
    // Services are shut down from last to first, so the stack can still fetch while the front completes its requests.
    group = ServiceGroup(
      services: [stacks.engine, front], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "shop"))
  }

  /// Serves until SIGTERM or SIGINT.
  func run() async throws { try await group.run() }
}
