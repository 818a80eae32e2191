// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroResilience
import LastroTesting

private func guarded() throws -> CurlNetworkStack {
  // sample: stack
  var engine = CurlConfiguration()
  engine.connection.egress = .publicInternet
  engine.connection.egress.ports = [80, 443]
  engine.connection.proxy = .none
  var policy = StackConfiguration()
  policy.timeouts = try Timeouts(connect: .seconds(5), idle: .seconds(5), total: .seconds(20))
  policy.maximumBodyBytes = 2 * 1024 * 1024
  policy.redirects = .follow(limit: 5)
  let stack = try CurlNetworkStack(engine, configuration: policy)
  // end
  return stack
}

private func refused(_ stack: CurlNetworkStack) async {
  // sample: guarded
  for url in [
    "http://169.254.169.254/latest/meta-data/", "http://localhost/admin", "http://[::ffff:10.0.0.1]/",
    "http://93.184.216.34:6379/", "file:///etc/passwd", "http://user@192.168.1.1/",
  ] {
    do {
      _ = try await stack.fetch(.raw(try ResourceRequest(url: url)))
    } catch let error as HTTPFetchError<any Error> {
      print("\(url): \(error.stage)/\(error.code)")
    } catch let error as TransportError {
      print("\(url): \(error.stage)/\(error.code)")
    } catch {
      print(error)
    }
  }
  // end
}

private func ranges() throws {
  // sample: egress
  var policy = EgressPolicy.publicInternet
  try policy.allow("10.20.0.0/16", ports: 443...443)
  for address in ["93.184.216.34", "169.254.169.254", "::ffff:127.0.0.1", "10.20.3.4"] {
    print(address, try policy.denial(of: address, port: 443) ?? "allowed")
  }
  // end
}

private func redirected() async throws {
  let server = try LoopbackServer.http { _ in
    LoopbackResponse(status: 302, headers: ["Location": "http://169.254.169.254/latest/meta-data/"])
  }
  var engine = CurlConfiguration()
  engine.connection.egress = .publicInternet
  try engine.connection.egress.allow("127.0.0.1/32", ports: server.port...server.port)
  engine.connection.proxy = .none
  let stack = try CurlNetworkStack(engine)
  let url = server.baseURL
  // sample: redirected
  do {
    _ = try await stack.fetch(.raw(try ResourceRequest(url: url)))
  } catch let error as HTTPFetchError<any Error> {
    print("\(error.stage)/\(error.code) after \(error.ledger.attempts.count) attempt")
  }
  // end
}

extension Page {
  static let fetchingWhatUsersName = Page("FetchingWhatUsersName") { stage in
    let stack = try guarded()
    await stage.prints("guarded") { await refused(stack) }
    try await stage.prints("egress") { try ranges() }
    try await stage.prints("redirected") { try await redirected() }
  }
}
