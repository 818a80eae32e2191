// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import PeerSupport
import Testing

@testable import LastroTesting

/// Tests that a variable of `-w` has the value of curl's variable of that name, or none.
@Suite("lastro fetch: the variables of -w", .timeLimit(.minutes(15)))
struct WriteOutTests {
  private func server() throws -> LoopbackServer {
    try LoopbackServer.http { request in
      switch request.path {
      case "/away":
        return LoopbackResponse(status: 302, headers: ["Location": "/there"])
      case "/named":
        return LoopbackResponse.text("named").adding("Content-Disposition", #"attachment; filename="offered.txt""#)
          .adding("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
      default: return .text("\(request.method) \(request.path) \(request.text)\n")
      }
    }
  }

  @Test("local_port is the port that the server sees")
  func localPort() async throws {
    let server = try LoopbackServer { connection in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(connection.descriptor, $0, &length) }
      }
      #expect(code == 0)
      _ = try connection.readHead()
      let text = "\(UInt16(bigEndian: address.sin_port))"
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }
    let result = try await Lastro.run(["fetch", "-s", "-w", " %{local_port} %{remote_port}", server.baseURL])
    let ports = result.text.split(separator: " ")
    #expect(ports.count == 3 && ports[0] == ports[1] && ports[2] == "\(server.port)", "\(result.text)")
    #expect(result.errors.isEmpty)
  }

  @Test("Without a connection, nothing was opened or sent")
  func unconnected() async throws {
    let words = ["post", "-s", "-d", "abc", "-w", "%{num_connects} %{size_upload} %{local_port}"]
    let result = try await Lastro.run(words + ["http://127.0.0.1:1/"])
    #expect(result.status == 7 && result.text == "0 0 0", "\(result.text) \(result.errors)")
  }

  @Test("The bytes of the body that were sent are counted, also those of a body without a length")
  func uploads() async throws {
    let server = try server()
    let known = try await Lastro.run(["post", "-s", "-d", "abc", "-w", "%{size_upload}", server.baseURL + "/a"])
    #expect(known.text == "POST /a abc\n3" && known.errors.isEmpty, "\(known.text) \(known.errors)")
    let words = ["fetch", "-s", "-T", "-", "-w", "%{size_upload}", server.baseURL + "/a"]
    let streamed = try await Lastro.run(words, input: "typed")
    #expect(streamed.text == "PUT /a typed\n5" && streamed.errors.isEmpty, "\(streamed.text) \(streamed.errors)")
  }

  @Test("A body that the server did not want is not counted")
  func unwantedUpload() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }
    let words = ["post", "-s", "-d", "abc", "-H", "Expect: 100-continue", "-w", "%{http_code} %{size_upload}"]
    let result = try await Lastro.run(words + [server.baseURL + "/"])
    #expect(result.text == "403 0", "\(result.text) \(result.errors)")
  }

  @Test("After a redirect, what curl adds up over all requests is not known")
  func sums() async throws {
    let server = try server()
    let names = [
      "num_connects", "size_header", "size_request", "time_namelookup", "time_connect", "time_appconnect",
      "time_pretransfer",
    ]
    let format = names.map { "%{\($0)}" }.joined() + "%{num_redirects}"
    let result = try await Lastro.run(["fetch", "-s", "-L", "-w", format, server.baseURL + "/away"])
    #expect(result.text == "GET /there \n1", "\(result.text)")
    for name in names { #expect(result.errors.contains("'\(name)' is not known"), "\(result.errors)") }
  }

  @Test("time_redirect is the time of the redirects, however long the body takes")
  func redirects() async throws {
    let server = try LoopbackServer { connection in
      while let request = try connection.readRequest() {
        if request.path == "/away" {
          // The redirect must take longer than nothing, and the body longer than the redirect.
          connection.pause(.milliseconds(50))
          try connection.write("HTTP/1.1 302 Found\r\nLocation: /slow\r\nContent-Length: 0\r\n\r\n")
        } else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl")
          connection.pause(.milliseconds(100))
          try connection.write("ow")
        }
      }
    }
    let format = "%{time_redirect} %{time_starttransfer} %{time_total}"
    let result = try await Lastro.run(
      ["fetch", "-s", "-L", "-o", "/dev/null", "-w", format, server.baseURL + "/away"])
    let times = result.text.split(separator: " ").compactMap { Double($0) }
    try #require(times.count == 3, "\(result.text) \(result.errors)")
    #expect(times[0] >= 0.05 && times[1] >= times[0] && times[2] >= times[1], "\(result.text)")
  }

  @Test("ssl_verify_result is 0 only for a certificate that was verified")
  func certificates() async throws {
    let root = try CertificateAuthority()
    let server = try LoopbackServer.http(tls: LoopbackTLS(root.issue(hosts: ["127.0.0.1"]))) { _ in .text("in") }
    let directory = try PeerDirectory()
    let roots = try directory.write(root.rootPEM, to: "roots.pem")
    let words = ["fetch", "-s", "-w", "%{ssl_verify_result}", "https://127.0.0.1:\(server.port)/"]
    let verified = try await Lastro.run(words + ["--cacert", roots])
    #expect(verified.text == "in0" && verified.errors.isEmpty, "\(verified.text) \(verified.errors)")
    let unchecked = try await Lastro.run(words + ["-k"])
    #expect(unchecked.text == "in" && unchecked.errors.contains("'ssl_verify_result' is not known"))
    let refused = try await Lastro.run(words)
    #expect(refused.status != 0 && refused.text.isEmpty, "\(refused.text)")
    #expect(refused.errors.contains("'ssl_verify_result' is not known"), "\(refused.errors)")
    let connects = try await Lastro.run(["fetch", "-s", "-w", "%{num_connects}", words[4]])
    #expect(connects.text.isEmpty && connects.errors.contains("'num_connects' is not known"), "\(connects.errors)")
  }

  @Test("A variable of curl's that is not supported is reported")
  func unsupported() async throws {
    let server = try server()
    let result = try await Lastro.run(["fetch", "-s", "-w", "%{http_connect}", server.baseURL + "/a"])
    #expect(result.text == "GET /a \n" && result.errors.contains("'http_connect' is unknown"), "\(result.errors)")
  }

  @Test("With -J, filename_effective and -R mean the file that the server named")
  func offeredName() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let words = ["fetch", "-s", "-R", "-OJ", "-w", "%{filename_effective}", server.baseURL + "/named"]
    let result = try await Lastro.run(words, folder: directory.file(""))
    #expect(result.text == "offered.txt" && directory.text(of: "offered.txt") == "named", "\(result.errors)")
    let attributes = try FileManager.default.attributesOfItem(atPath: directory.file("offered.txt"))
    #expect((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_767_225_600)
  }

  @Test("Where the name in the URL is a link to another folder, -J and -R mean the file in that folder")
  func offeredNameBehindLink() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    try FileManager.default.createDirectory(atPath: directory.file("other"), withIntermediateDirectories: false)
    _ = try directory.write("old", to: "other/target")
    _ = try directory.write("mine", to: "offered.txt")
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("named"), withDestinationPath: directory.file("other/target"))
    let words = ["fetch", "-s", "-R", "-OJ", "-w", "%{filename_effective}", server.baseURL + "/named"]
    let result = try await Lastro.run(words, folder: directory.file(""))
    #expect(result.text.hasSuffix("/other/offered.txt"), "\(result.text) \(result.errors)")
    #expect(directory.text(of: "other/offered.txt") == "named" && directory.text(of: "offered.txt") == "mine")
    let attributes = try FileManager.default.attributesOfItem(atPath: directory.file("offered.txt"))
    #expect((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 != 1_767_225_600)
  }
}
