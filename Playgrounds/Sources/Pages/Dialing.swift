// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

private func echo(_ dialer: any Dialer) async throws {
  // sample: stream
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7, tls: .init()))
  try await stream.write(Data("hello".utf8), within: .seconds(5))
  try await stream.finishWriting()

  var answer = Data()
  while let piece = try await stream.read(upTo: 4096, within: .seconds(5)) { answer += piece }
  print(String(decoding: answer, as: UTF8.self), stream.facts.trust.rawValue)
  // end
}

private func truncated(_ stream: any ByteStream) async {
  // sample: truncated
  do {
    while let piece = try await stream.read() { print(piece.count, "bytes") }
    print("the end")
  } catch {
    print(error)
  }
  // end
}

private func datagrams(_ dialer: any Dialer) async throws -> Data {
  // sample: datagrams
  let datagrams = try await dialer.dialDatagrams(DialRequest(host: "echo.example.org", port: 7))
  try await datagrams.send(Data("hello".utf8))
  let answer = try await datagrams.receive(within: .seconds(5))
  // end
  return answer
}

// sample: dialer
struct Counted: Dialer {
  let below: any Dialer
  let count: @Sendable (String) -> Void

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = try await below.dial(request)
    count(request.host)
    return stream
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }
}
// end

extension Page {
  static let dialing = Page("Dialing") { stage in
    let hosts = try StreamHosts()
    try await streams(stage, hosts)
    try await counted(stage, hosts)
  }
}

private let host = "echo.example.org"

/// Returns a server that sends back all received bytes until the client finishes writing.
func echoServer(_ tls: LoopbackTLS) throws -> LoopbackServer {
  try LoopbackServer(tls: tls) { connection in
    while true {
      let bytes = connection.read(max: 65_536)
      if bytes.isEmpty { return }
      try connection.write(bytes)
    }
  }
}

private func streams(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try echoServer(try hosts.identity(host))
  defer { server.stop() }
  try await stage.prints("stream") { try await echo(hosts.dialer([host: server.port])) }

  let cutting = try LoopbackServer(tls: try hosts.identity(host)) { connection in
    try connection.write("half of it")
    connection.closeWithoutNotify()
  }
  defer { cutting.stop() }
  let stream = try await hosts.dialer([host: cutting.port]).dial(DialRequest(host: host, port: 7, tls: .init()))
  await stage.prints("truncated") { await truncated(stream) }

  let receiver = try LoopbackDatagramServer { [$0] }
  defer { receiver.stop() }
  stage.check("a datagram comes back", try await datagrams(hosts.dialer([host: receiver.port])) == Data("hello".utf8))
}

private func counted(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try echoServer(try hosts.identity(host))
  defer { server.stop() }
  let dialed = EventRecorder<String>()
  let counted = Counted(below: hosts.dialer([host: server.port])) { dialed.record($0) }
  try await echo(counted)
  stage.check("a dialer of one's own counts", dialed.events == [host])
}
