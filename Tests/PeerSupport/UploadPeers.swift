// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// fastapi-tusd, a server of tus 1.0.0 in Python, in the clear. Made by `make setup`.
///
/// Uploads are made at `/files`; `GET` of an upload gives what it has.
package enum TusPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("hypercorn")
    return try await Peer.start { directory, ports in
      let application = try directory.write(
        """
        from fastapi import FastAPI
        from fastapi_tusd import TusRouter

        application = FastAPI()
        application.include_router(
            TusRouter(store_dir="\(directory.file("uploads"))", location="http://127.0.0.1:\(ports[0])/files"),
            prefix="/files")

        """, to: "application.py")
      return PeerProcess.Launch(
        program: program, arguments: ["--bind", "127.0.0.1:\(ports[0])", "\(application):application"])
    }
  }
}
