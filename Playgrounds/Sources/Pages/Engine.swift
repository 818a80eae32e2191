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

private func warmed(_ stack: CurlNetworkStack) async throws {
  // sample: warm
  try await stack.warm(["https://api.github.com"], connections: 4)
  // end
}

private func shown(_ stack: CurlNetworkStack) {
  // sample: snapshot
  for part in stack.snapshot.parts where part.kind == "pool" { print(part.subject, part.values["idle"] ?? 0) }
  // end
}

private func served(_ stack: CurlNetworkStack, at path: String) -> Task<Void, any Error> {
  // sample: serve snapshot
  let serving = Task { try await stack.serveSnapshot(at: path) }  // such as "/run/shop/lastro.sock"
  // end
  return serving
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

private func showsItself(_ stack: CurlNetworkStack, _ stage: Stage) async throws {
  shown(stack)
  stage.check("a snapshot counts connections", stack.snapshot.parts.contains { $0.kind == "pool" })
  let path = FileManager.default.temporaryDirectory.appending(path: "\(UInt64.random(in: 0 ... .max)).sock").path
  let serving = served(stack, at: path)
  var engine = CurlConfiguration()
  engine.connection.unixSocketPath = path
  let reader = try CurlNetworkStack(engine)
  while (try? await reader.fetch(.get("http://localhost/", as: StackSnapshot.self))) == nil { await Task.yield() }
  serving.cancel()
  try await serving.value
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
  try await showsItself(github, stage)
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
