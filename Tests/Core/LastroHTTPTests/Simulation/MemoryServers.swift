// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting

@testable import LastroHTTP

/// A request as a server in memory has read it.
struct MemoryRequest {
  var method = ""
  var target = ""
  var fields: [(name: String, value: String)] = []
  var body: [UInt8] = []
  /// The HTTP/2 stream; 0 over HTTP/1.1.
  var stream: UInt32 = 0

  func value(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
}

/// An HTTP/1.1 server at the far end of a link.
final class MemoryHTTP1Server {
  unowned let far: MemoryPeer
  /// The requests that were read, in order.
  private(set) var requests: [MemoryRequest] = []
  /// Called at the head of a request, with its body still to come.
  var onHead: ((MemoryHTTP1Server, MemoryRequest) -> Void)?
  /// Called when a request is complete.
  var onRequest: (MemoryHTTP1Server, MemoryRequest) -> Void
  private var current: (request: MemoryRequest, left: Int)?

  init(_ far: MemoryPeer, _ onRequest: @escaping (MemoryHTTP1Server, MemoryRequest) -> Void) {
    self.far = far
    self.onRequest = onRequest
    // The far end keeps its server alive.
    far.onBytes = { [self] _ in read() }
  }

  private func read() {
    while true {
      if var (request, left) = current {
        let count = min(left, far.received.count)
        request.body += far.received.prefix(count)
        far.received.removeFirst(count)
        left -= count
        current = (request, left)
        if left > 0 { return }
        current = nil
        requests.append(request)
        onRequest(self, request)
      }
      guard let request = takeHead() else { return }
      current = (request, request.value("content-length").flatMap { Int($0) } ?? 0)
      onHead?(self, request)
    }
  }

  private func takeHead() -> MemoryRequest? {
    let bytes = far.received
    guard bytes.count >= 4, let end = (4...bytes.count).first(where: { bytes[($0 - 4)..<$0].elementsEqual(Self.blank) })
    else { return nil }
    far.received.removeFirst(end)
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
    let words = lines[0].split(separator: " ").map(String.init)
    var request = MemoryRequest(method: words[0], target: words[1])
    request.fields = lines.dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
    return request
  }

  private static let blank: [UInt8] = [13, 10, 13, 10]

  /// Returns the bytes of a response with a length.
  static func response(
    _ body: String, status: Int = 200, fields: KeyValuePairs<String, String> = [:]
  ) -> String {
    "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n"
      + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body
  }

  func respond(
    _ body: String, status: Int = 200, fields: KeyValuePairs<String, String> = [:], after delay: Duration = .zero
  ) {
    far.send(Self.response(body, status: status, fields: fields), after: delay)
  }
}

extension MemoryNetwork {
  /// Makes every dial open a link to an HTTP/1.1 server.
  func serveHTTP1(
    after delay: Duration = .zero, _ onRequest: @escaping (MemoryHTTP1Server, MemoryRequest) -> Void
  ) {
    dialing = { _ in
      .open(after: delay) { link in _ = MemoryHTTP1Server(link.far, onRequest) }
    }
  }

  /// Makes every dial open a link to a server that responds with the target of each request.
  func echo(after delay: Duration = .zero, response responseDelay: Duration = .zero) {
    serveHTTP1(after: delay) { server, request in server.respond(request.target, after: responseDelay) }
  }
}
