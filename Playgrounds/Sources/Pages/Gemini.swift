// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroGemini
import LastroTesting
import LastroTransports

private func first(_ dialer: any Dialer) async throws {
  // sample: fetch
  let client = GeminiClient(dialer: dialer)
  let response = try await client.fetch("gemini://capsule.example.org/").collected()
  print(response.status, response.meta)
  print(response.text ?? "")
  // end
}

private func program(stack: CurlNetworkStack) -> GeminiClient {
  // sample: client
  let client = GeminiClient(dialer: stack.dialer)
  // end
  return client
}

private func statuses(_ client: GeminiClient, _ url: String) async throws -> String {
  // sample: statuses
  let response = try await client.fetch(url)
  switch response.status.category {
  case .success: return "\(try await response.collected(upTo: 1 << 20).data?.count ?? 0) bytes of \(response.meta)"
  case .input: return "it asks: \(response.meta)"
  case .redirect: return "it leads to \(response.meta)"
  case .temporaryFailure, .permanentFailure: return "it fails: \(response.meta)"
  case .clientCertificate: return "it wants a certificate: \(response.meta)"
  }
  // end
}

private func asking(_ dialer: any Dialer) async throws -> GeminiResponse {
  // sample: input
  var configuration = GeminiConfiguration()
  configuration.onInput = { prompt in
    prompt.status == .sensitiveInput ? nil : Secret("otters")  // `nil` returns the response
  }
  let client = GeminiClient(dialer: dialer, configuration: configuration)
  let response = try await client.fetch("gemini://capsule.example.org/search").collected()
  // end
  return response
}

private func redirected(_ dialer: any Dialer) async throws {
  // sample: redirects
  do throws(GeminiError) {
    _ = try await GeminiClient(dialer: dialer).fetch("gemini://capsule.example.org/mirror")
  } catch {
    print(error)
  }

  var configuration = GeminiConfiguration()
  configuration.followsRedirectsAcrossHosts = true
  let response = try await GeminiClient(dialer: dialer, configuration: configuration)
    .fetch("gemini://capsule.example.org/mirror")
  print(response.redirects)
  // end
}

private func knownHosts(path: String) -> GeminiConfiguration {
  // sample: known hosts
  var configuration = GeminiConfiguration()
  configuration.trust = .firstUse(path: path) { refusal in
    print(refusal.message)
    return .refuse  // or .acceptOnce, or .replace
  }
  // end
  return configuration
}

private func otherTrust(judge: any ServerTrustJudge) -> [GeminiConfiguration] {
  // sample: other trust
  var authorities = GeminiConfiguration()
  authorities.trust = .authorities  // as for https, with pins
  var judged = GeminiConfiguration()
  judged.trust = .judged(by: judge)  // by its judgement alone
  // end
  return [authorities, judged]
}

private func identified(_ dialer: any Dialer, certificate: [UInt8], key: [UInt8]) async throws -> GeminiResponse {
  // sample: identity
  let client = GeminiClient(dialer: dialer)
  client.addIdentity(
    TLSOptions.Identity(certificate: .bytes(certificate), key: .bytes(key)),
    for: try GeminiURL("gemini://capsule.example.org/members"))
  let response = try await client.fetch("gemini://capsule.example.org/members/ann").collected()
  // end
  return response
}

private func rendered(_ client: GeminiClient) async throws {
  // sample: gemtext
  let response = try await client.fetch("gemini://capsule.example.org/")
  var links: [String] = []
  for try await line in response.gemtext {
    if case .link(let target, _) = line { links.append(target) }
    if let text = line.plainText(width: 60, linkNumber: links.count) { print(text) }
  }
  print(links)
  // end
}

private func truncated(_ client: GeminiClient) async {
  // sample: truncated
  do throws(GeminiError) {
    _ = try await client.fetch("gemini://capsule.example.org/cut").collected()
  } catch {
    print(error)
  }
  // end
}

private func task(
  _ client: GeminiClient, finish: @escaping @Sendable (GeminiStatus?) -> Void
) throws -> GeminiDataTask {
  // sample: data task
  let request = GeminiRequest(url: try GeminiURL("gemini://capsule.example.org/"))
  let task = GeminiDataTask(request: request, client: client) { result in
    finish(try? result.get().status)
  }
  task.resume()
  // end
  return task
}

private func connection(_ dialer: any Dialer) async throws {
  // sample: connection
  let factory = NetworkConnectionFactory(to: .hostPort(host: "capsule.example.org", port: 1965), dialer: dialer)
  let connection = try await factory.open(using: .gemini)
  let request = GeminiRequest(url: try GeminiURL("gemini://capsule.example.org/"))
  let question = ConnectionContentContext(
    identifier: "request", metadata: [ProtocolFramer.Message(geminiRequest: request)])
  try await connection.send(nil, contentContext: question)

  let answer = try await connection.receiveMessage()
  let message = answer.context?.protocolMetadata(definition: GeminiProtocol.definition) as? ProtocolFramer.Message
  if let header = message?.geminiResponseHeader { print(header.status, header.meta, answer.data.count) }
  connection.cancel()
  // end
}

// MARK: the page

extension Page {
  static let gemini = Page("Gemini") { stage in
    _ = program(stack: try stage.github())
    _ = otherTrust(judge: Anybody())
    let hosts = try StreamHosts()
    let capsule = try GeminiCapsule(stage, hosts)
    defer { capsule.stop() }
    let client = GeminiClient(dialer: capsule.dialer)
    try await documents(stage, capsule, client)
    try await trust(stage, hosts, capsule)
    try await dataTask(stage, client)
    try await stage.prints("connection") { try await connection(capsule.dialer) }
    try await browseProgram(stage, capsule)
  }
}

private final class Anybody: ServerTrustJudge {
  func judge(_ trust: ServerTrust) -> TrustVerdict { .validated }
}

/// A host with some documents. A Gemini server only has to read a line and write a response.
struct GeminiCapsule {
  static let host = "capsule.example.org"
  static let mirror = "mirror.example.org"
  let server: LoopbackServer
  let dialer: SocketDialer

  static let home = """
    # Otters
    A capsule about otters, who sleep on their backs and hold hands, so that the sea does not part them.
    => /rivers River otters
    => gemini://mirror.example.org/ The mirror
    * sea
    * river
    """

  /// - Parameter clients: the authority of the allowed clients; `nil` to allow all clients.
  init(_ stage: Stage, _ hosts: StreamHosts, clients: CertificateAuthority? = nil) throws {
    var tls = try hosts.identity(Self.host)
    tls.identitiesByName = [Self.mirror: try hosts.identity(Self.mirror).identity]
    tls.clientAuthoritiesPEM = clients?.rootPEM
    let path = try stage.socketPath()
    server = try LoopbackServer(unixSocketPath: path, tls: tls) { connection in
      guard let line = connection.readLine(), line.hasPrefix("gemini://") else { return }
      let target = line.dropFirst("gemini://".count)
      let path = target.firstIndex(of: "/").map { String(target[$0...]) } ?? "/"
      try connection.write(Self.answer(path))
      if path == "/cut" { connection.closeWithoutNotify() }
    }
    dialer = hosts.dialer(socket: path)
  }

  func stop() { server.stop() }

  private static func answer(_ path: String) -> String {
    switch path {
    case "/": "20 text/gemini\r\n" + home
    case "/rivers": "20 text/gemini\r\n# River otters\n=> / Back\n"
    case "/search": "10 What about?\r\n"
    case "/search?otters": "20 text/plain\r\nfour documents"
    case "/mirror": "31 gemini://\(mirror)/rivers\r\n"
    case "/cut": "20 text/plain\r\nhalf of"
    case "/members/ann": "20 text/plain\r\nhello"
    default: "51 There is no such document\r\n"
    }
  }
}

private func documents(_ stage: Stage, _ capsule: GeminiCapsule, _ client: GeminiClient) async throws {
  try await stage.prints("fetch") { try await first(capsule.dialer) }
  let home = "gemini://\(GeminiCapsule.host)/"
  stage.check("a document", try await statuses(client, home).hasSuffix("bytes of text/gemini"))
  stage.check("none", try await statuses(client, home + "x") == "it fails: There is no such document")
  stage.check("a question", try await statuses(client, home + "search") == "it asks: What about?")
  stage.check("an answer", try await asking(capsule.dialer).text == "four documents")
  try await stage.prints("redirects") { try await redirected(capsule.dialer) }
  try await stage.prints("gemtext") { try await rendered(client) }
  await stage.prints("truncated") { await truncated(client) }
}

private func trust(_ stage: Stage, _ hosts: StreamHosts, _ capsule: GeminiCapsule) async throws {
  let path = try stage.socketPath() + ".known-hosts"
  let client = GeminiClient(dialer: capsule.dialer, configuration: knownHosts(path: path))
  let home = "gemini://\(GeminiCapsule.host)/"
  let first = try await client.fetch(home)
  let second = try await client.fetch(home)
  stage.check("the first time is believed", first.facts.trust == .firstUse)
  stage.check("then the host is known", second.facts.trust == .knownHost)
  let other = try GeminiCapsule(stage, hosts)
  defer { other.stop() }
  let impostor = GeminiClient(dialer: other.dialer, configuration: knownHosts(path: path))
  await stage.prints("changed") {
    do throws(GeminiError) {
      _ = try await impostor.fetch(home)
      stage.check("another key is refused", false)
    } catch {
      stage.check("another key is refused", error.stage == .trust && error.code == .certificateChanged)
    }
  }
  let authority = try CertificateAuthority()
  let ann = try authority.issue(hosts: [], commonName: "ann")
  let members = try GeminiCapsule(stage, hosts, clients: authority)
  defer { members.stop() }
  let known = try await identified(
    members.dialer, certificate: Array(ann.chainPEM.utf8), key: Array(ann.privateKeyPEM.utf8))
  stage.check("a client certificate is presented in its scope", known.text == "hello")
  stage.check("nowhere else", (try? await GeminiClient(dialer: members.dialer).fetch(home)) == nil)
}

private func dataTask(_ stage: Stage, _ client: GeminiClient) async throws {
  let (statuses, finish) = AsyncStream.makeStream(of: GeminiStatus?.self)
  let task = try task(client) { finish.yield($0) }
  var iterator = statuses.makeAsyncIterator()
  stage.check("a task completes", await iterator.next() == .success)
  stage.check("and says so", task.state == .completed)
}

/// Runs the program `Pages browse` with a user who follows links, goes back, and enters input.
private func browseProgram(_ stage: Stage, _ capsule: GeminiCapsule) async throws {
  let home = "gemini://\(GeminiCapsule.host)/"
  let screen = await browse(
    ["1", "b", "2", "h", "\(GeminiCapsule.host)/search", "otters", "9", "\(home)none", "q"], from: home,
    over: capsule.dialer)
  let visited = screen.filter { $0.hasPrefix("== ") }.map { $0.dropFirst(3).prefix { $0 != "," } }
  let mirror = "gemini://\(GeminiCapsule.mirror)/"
  stage.check(
    "a browser follows links, and goes back",
    visited == [home[...], "\(home)rivers", home[...], mirror[...], "\(home)search?otters"])
  stage.check("it numbers links", screen.contains("[1] River otters"))
  stage.check("it has a history", screen.filter { $0.hasPrefix("  gemini://") } == ["  \(home)", "  \(mirror)"])
  stage.check("it asks what the server asks", screen.contains("? What about?") && screen.contains("four documents"))
  stage.check(
    "it tells what is not there", screen.suffix(2) == ["* there is no link 9", "* 51 There is no such document"])
}
