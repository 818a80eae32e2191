// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroWebSocket

private func configured() throws -> CurlNetworkStack {
  // sample: configure
  var engine = CurlConfiguration()
  engine.loops = 2
  engine.connectionsPerHost = 16
  engine.idleLifetime = .seconds(20)
  let stack = try CurlNetworkStack(engine)
  // end
  return stack
}

private func shared(_ engine: CurlConfiguration) throws -> ([CurlNetworkStack], WebSocketClient) {
  // sample: share
  let github = try CurlNetworkStack(engine)
  let patient = CurlNetworkStack(
    sharing: github, configuration: StackConfiguration(interceptors: [.retry]))
  let shop = CurlNetworkStack(
    sharing: github, configuration: StackConfiguration(baseURL: "https://api.shop.example"))
  let sockets = WebSocketClient(dialer: github.dialer)
  // end
  return ([github, patient, shop], sockets)
}

private func pinned(key: String, backup: String) throws -> CurlConfiguration {
  // sample: pins
  let policy = try PinningPolicy("api.github.com", pins: [key, backup])
  let engine = CurlConfiguration(pins: [policy])
  // end
  return engine
}

private func inspected(_ stack: CurlNetworkStack) async throws {
  // sample: inspect
  let trust = try await stack.inspect("https://api.github.com")
  print(trust.host, "shows", trust.chain.count, "certificates")
  // end
}

private func fetched(_ logins: [String], _ stack: CurlNetworkStack) async throws -> [String] {
  // sample: executor
  let names = try await withTaskExecutorPreference(stack.executor) {
    var names: [String] = []
    for login in logins { names.append(try await stack.fetch(.user(login)).value.login) }
    return names
  }
  // end
  return names
}

private func ended(_ stack: CurlNetworkStack) async {
  // sample: shut down
  await stack.shutDown()
  // end
}

extension Page {
  static let engine = Page("Engine") { stage in
    try await sharing(stage)
    try await holdsPins(stage)
  }
}

private func sharing(_ stage: Stage) async throws {
  await ended(try configured())
  let stacks = try shared(stage.engine).0
  let (github, patient) = (stacks[0], stacks[1])
  try await warmed(github)
  let first = try await github.fetch(.user("octocat")).response.facts
  stage.check("the first request finds a connection", first.connectionReused)
  let id = first.connectionID
  stage.check("stacks share connections", try await patient.fetch(.user("octocat")).response.facts.connectionID == id)
  stage.check("tasks run on the engine", try await fetched(["octocat", "octocat"], github) == ["octocat", "octocat"])
  try await stage.prints("inspect") { try await inspected(github) }
  await ended(github)
  do {
    _ = try await patient.fetch(.user("octocat"))
    stage.check("shutting one down shuts the engine down", false)
  } catch {
    stage.check("shutting one down shuts the engine down", error.code == .shutDown)
  }
}

private func holdsPins(_ stage: Stage) async throws {
  let key = try await stage.github().inspect("https://api.github.com").chain[0].pin
  let other = "sha256/YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg="
  var engine = try pinned(key: key.description, backup: other)
  engine.connection = stage.engine.connection
  let stack = try CurlNetworkStack(engine)
  stage.check("pins hold for the stack", try await stack.fetch(.user("octocat")).response.facts.trust == .pinned)
  let stream = try await stack.dialer.dial(DialRequest(host: "api.github.com", port: 443, tls: .init()))
  stage.check("and for its dialer", stream.facts.trust == .pinned)
}
  try await showsItself(github, stage)
