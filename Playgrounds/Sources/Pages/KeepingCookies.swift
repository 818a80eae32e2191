// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

private func given() throws -> CurlNetworkStack {
  // sample: given
  var configuration = StackConfiguration()
  configuration.cookies = CookieJar()
  let stack = try CurlNetworkStack(configuration: configuration)
  // end
  return stack
}

private func login() -> ScriptedTransport {
  ScriptedTransport { (request, _) throws(TransportError) in
    var head = HTTPResponse(status: .ok)
    if request.head.path == "/login" {
      head = HTTPResponse(status: .seeOther, headerFields: [.location: "/account"])
      head.headerFields[.setCookie] = "session=31d4d96e; Secure; HttpOnly; Path=/"
      head.headerFields.append(HTTPField(name: .setCookie, value: "theme=dark; Domain=example.org"))
    }
    return TransferResponse(head: head, body: ResponseBody(Data()))
  }
}

private func sent(_ transport: ScriptedTransport) async throws {
  // sample: sent
  let jar = CookieJar()
  var configuration = StackConfiguration()
  configuration.cookies = jar
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  let login = try ResourceRequest(method: .post, url: "https://www.example.org/login")
  let answer = try await stack.fetch(.raw(login))
  for note in answer.response.ledger.attempts.last?.facts?.notes ?? [] { print(note.text) }
  for cookie in try jar.cookies(for: "https://mail.example.org/") { print(cookie) }
  // end
}

private func use(_ other: CookieJar) -> RequestOptions {
  // sample: use
  var options = RequestOptions()
  options.cookies = .none
  options.cookies = .with(other)
  // end
  return options
}

private func verdicts() throws {
  // sample: verdicts
  let jar = CookieJar()
  let lines = ["a=1; Domain=com", "b=2; SameSite=None", "__Host-c=3; Secure", "d=4; Max-Age=60"]
  for verdict in try jar.receive(lines, from: "https://www.example.com/") { print(verdict) }
  // end
}

private func kept(in path: String) async throws {
  // sample: kept
  let jar = try CookieJar(path: path)
  try jar.insert(Cookie("session", "31d4d96e", domain: "api.example.org", isSecure: true))
  try await jar.save()
  // end
  let again = try CookieJar(path: path)
  print(again.cookies.map(\.description).joined(separator: "; "))
}

private func netscape(_ text: String) {
  // sample: netscape
  let jar = CookieJar()
  for problem in jar.importNetscape(text) { print(problem) }
  for line in jar.netscapeText().split(separator: "\n") where !line.hasPrefix("# ") { print(line) }
  // end
}

extension Page {
  static let keepingCookies = Page("KeepingCookies") { stage in
    _ = try given()
    _ = use(CookieJar())
    try await stage.prints("sent") { try await sent(login()) }
    try await stage.prints("verdicts") { try verdicts() }
    let file = FileManager.default.temporaryDirectory.appending(path: "cookies-\(UUID()).txt").path()
    try await stage.prints("kept") { try await kept(in: file) }
    try FileManager.default.removeItem(atPath: file)
    await stage.prints("netscape") {
      netscape("example.org\tFALSE\t/\tTRUE\t0\tsession\t31d4d96e\n.org\tTRUE\t/\tFALSE\t0\ta\tb\n")
    }
  }
}
