// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroLifecycle
import LastroObservability
import LastroResilience
import LastroTesting
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

private func stacks(_ configuration: CurlConfiguration) throws -> (engine: CurlNetworkStack, rates: CurlNetworkStack) {
  // sample: assembly
  let engine = try CurlNetworkStack(configuration)
  var policy = StackConfiguration(interceptors: [.retry])
  policy.timeouts = try Timeouts(connect: .seconds(2), attempt: .seconds(3), idle: .seconds(3), total: .seconds(8))
  policy.resilience = .standard()
  policy.observers = [.metrics()]
  let rates = CurlNetworkStack(sharing: engine, configuration: policy)
  // end
  return (engine, rates)
}

/// A placeholder for the reader's own server.
private struct Server: Service {
  let body: @Sendable () async throws -> Void

  func run() async throws {
    try await body()
    try await gracefulShutdown()
    print("the server has answered what it was asked")
  }
}

private func group(_ engine: CurlNetworkStack, _ server: some Service) -> ServiceGroup {
  // sample: group
  let group = ServiceGroup(
    services: [engine, server], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "shop"))
  // end
  return group
}

// sample: pins
/// Reads the file of pins again at SIGHUP.
struct Pins: Service {
  let evaluator: ServerTrustEvaluator
  let path: String

  func run() async throws {
    for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { reload() }
  }

  func reload() {
    do {
      evaluator.configuration = try .init(contentsOfFile: path)
    } catch {
      print("the pins stay as they are: \(error)")
    }
  }
}
// end

private func rotation(_ stage: Stage, _ site: Site) async throws {
  let path = try stage.socketPath() + ".json"
  let backup = try site.renewed()
  func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
  let keys = try [site.certificate, backup].map { "\"\(try $0.pin)\"" }.joined(separator: ",")
  try write(#"{"policies":[{"domain":"\#(Site.name)","pins":[\#(keys)]}]}"#)
  let pins = Pins(evaluator: ServerTrustEvaluator(configuration: try .init(contentsOfFile: path)), path: path)
  let stack = try site.stack { $0.trustJudge = pins.evaluator }
  stage.check("the key in use is pinned", try await stack.fetch(.balance).value == "EUR 17.30")
  try site.server.replaceTLS(LoopbackTLS(backup))
  site.server.closeConnections()
  stage.check("and so is the backup", try await stack.fetch(.balance).value == "EUR 17.30")
  try write(#"{"policies":[{"domain":"\#(Site.name)"}]}"#)
  await stage.prints("pins", path: path) { pins.reload() }
  stage.check("a file that is broken changes nothing", try await stack.fetch(.balance).value == "EUR 17.30")
  // The signal would end this process if it arrived before the service handles it.
  signal(SIGHUP, SIG_IGN)
  let watching = Task { try await pins.run() }
  try write(#"{"allowNotPinnedDomains":true,"policies":[{"domain":"\#(Site.name)","pins":[\#(keys)]}]}"#)
  for _ in 0..<1000 where !pins.evaluator.configuration.allowNotPinnedDomains {
    kill(getpid(), SIGHUP)
    try await Task.sleep(for: .milliseconds(10))
  }
  stage.check("a file is read again at SIGHUP", pins.evaluator.configuration.allowNotPinnedDomains)
  watching.cancel()
}

extension Page {
  static let runningInAService = Page("RunningInAService") { stage in
    let (engine, rates) = try stacks(stage.engine)
    let served = EventRecorder<String>()
    let server = Server { served.record(try await rates.fetch(.user("octocat")).value.login) }
    try await stage.prints("group") {
      let group = group(engine, server)
      let running = Task { try await group.run() }
      try await served.waitForEvents(count: 1)
      await group.triggerGracefulShutdown()
      try await running.value
      print("the service has ended")
    }
    stage.check("a service fetches", served.events == ["octocat"])
    if let error = await stage.failure(of: .user("octocat"), from: rates) {
      stage.check("and when it has ended it does not", error.code == .shutDown)
    }
    try await rotation(stage, try Site(stage))
  }
}
