// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

/// A small API that responds with 503 to every other request, starting with the first.
private final class NotesServer: Sendable {
  private let reads = EventRecorder<Void>()
  private let writes = EventRecorder<Void>()

  var written: Int { writes.events.count }

  func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    guard request.headers["Authorization"] == "Bearer s3cret" else { return .json(#"{"message":"who?"}"#, status: 401) }
    let count = request.method == "POST" ? writes.record(()) : reads.record(())
    guard !count.isMultiple(of: 2) else { return .json(#"{"message":"busy"}"#, status: 503) }
    return request.method == "POST"
      ? .json(#"{"id":8,"text":"buy tea"}"#, status: 201) : .json(#"{"id":7,"text":"buy milk"}"#)
  }
}

extension Page {
  static let migrating = Page("Migrating") { stage in
    let old = NotesServer()
    let plain = try LoopbackServer.http { old.answer($0) }
    let before = notesByURLSession(at: URL(string: plain.baseURL) ?? URL(filePath: "/"), token: "s3cret")
    stage.check("before: a note", try await before.note(7) == Note(id: 7, text: "buy milk"))
    stage.check("before: one more", try await before.add("buy tea").id == 8)
    stage.check("whose request was sent twice", old.written == 2)

    let new = NotesServer()
    let root = try CertificateAuthority(commonName: "Example Root")
    let path = try stage.socketPath()
    let server = try LoopbackServer.http(
      unixSocketPath: path, tls: LoopbackTLS(root.issue(hosts: ["notes.example.com"]))
    ) { new.answer($0) }
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path
    engine.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
    let stack = try notesStack(engine, Secret("s3cret"))
    try await stage.prints("use") {
      try await use(stack)
      try await use(stack)
    }
    stage.check("each POST was sent once", new.written == 2)
    server.stop()
    plain.stop()
  }
}
