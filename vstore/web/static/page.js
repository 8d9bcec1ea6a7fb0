// Conveniences of the draft page; every one of them may be absent. Without script the form is
// saved by its button, and files are sent from a page of their own.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  const files = document.querySelector("[data-files]");
  const words = document.querySelector("[data-words]")?.dataset ?? {};
  const AUTOSAVE_MS = 900;
  const RETRY_MS = 5000;

  const say = (text, values) =>
    Object.entries(values ?? {}).reduce((all, [name, value]) => all.replaceAll(`{${name}}`, value), text ?? "");

  const clock = (instant) =>
    new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
      .format(new Date(instant));

  const headers = { Accept: "application/json" };

  // What the server says; nothing where it isn't ours that answers (a proxy's page, say).
  const answerOf = async (response) => {
    try {
      return (await response.json()) ?? {};
    } catch {
      return {};
    }
  };

  // ---- the notice above the form

  // It stays in sight while the page is scrolled, and never takes the focus from who types.
  const notice = document.querySelector("[data-notice]");
  const warn = (kind, link) => {
    if (!notice || (!notice.hidden && notice.dataset.kind === kind)) return;
    notice.dataset.kind = kind;
    notice.querySelector("[data-notice-text]").textContent = words[kind];
    const anchor = notice.querySelector("[data-notice-link]");
    anchor.hidden = !link;
    if (link) {
      anchor.href = link.href;
      anchor.textContent = words[link.text];
      anchor.target = link.blank ? "_blank" : "";
    }
    notice.hidden = false;
  };
  const calm = () => {
    if (notice && ["loggedOut", "refused"].includes(notice.dataset.kind)) notice.hidden = true;
  };

  // ---- saving

  const saving = (() => {
    if (!form) return null;
    const status = document.querySelector("[data-save-status]");
    const field = (name) => form.elements.namedItem(name);
    let dirty = false;
    let closed = false; // a refusal that typing on can't mend
    let timer = 0;
    let running = null;

    const show = (kind, values) => {
      if (!status) return;
      status.dataset.state = kind;
      status.textContent = say(words[kind], values);
    };

    const close = (kind, link) => {
      closed = true;
      for (const one of form.querySelectorAll("input, textarea")) one.readOnly = true;
      show("notSaved");
      warn(kind, link);
    };

    const post = async () => {
      const again = () => {
        timer = setTimeout(save, RETRY_MS);
      };
      dirty = false;
      const body = new URLSearchParams(new FormData(form));
      body.set("automatic", "1");
      show("saving");
      let response;
      try {
        response = await fetch(form.action, { method: "POST", headers, body });
      } catch {
        dirty = true;
        show("offline");
        again();
        return;
      }
      const answer = await answerOf(response);
      const refusal = answer.error ?? {};
      if (response.ok && answer.revision !== undefined) {
        field("revision").value = answer.revision;
        show("saved", { time: clock(answer.saved_at) });
        calm();
      } else if (response.status === 401) {
        dirty = true;
        show("notSaved");
        warn("loggedOut", { href: "/login", text: "logIn", blank: true });
        again();
      } else if (refusal.kind === "stale_draft") {
        if (dirty) return post(); // typed while the first text was on its way
        close("stale", { href: refusal.details.location, text: "compare" });
      } else if (refusal.kind === "confirming" || response.status >= 500 || response.status === 429) {
        dirty = true;
        show("notSaved");
        again();
      } else if (response.status === 409) {
        close(refusal.kind === "answered" ? "answered" : "superseded", { href: form.dataset.request, text: "toTest" });
      } else {
        // Not again by itself: the same text would be refused the same way. Typing on tries again.
        show("notSaved");
        warn("refused");
      }
    };

    function save() {
      clearTimeout(timer);
      if (closed || !dirty) return running ?? Promise.resolve();
      running = (running ?? Promise.resolve()).then(() => (dirty && !closed ? post() : undefined))
        .finally(() => { running = null; });
      return running;
    }

    const changed = () => {
      dirty = true;
      clearTimeout(timer);
      timer = setTimeout(save, AUTOSAVE_MS);
    };

    form.addEventListener("input", changed);
    form.addEventListener("change", changed);
    // What was typed, or chosen, before this script was there.
    const touched = (one) =>
      ["checkbox", "radio"].includes(one.type) ? one.checked !== one.defaultChecked : one.value !== one.defaultValue;
    if ([...form.querySelectorAll("input:not([type=file]), textarea")].some(touched)) changed();
    form.addEventListener("submit", async (event) => {
      clearTimeout(timer);
      if (closed) {
        event.preventDefault();
        notice?.querySelector("[data-notice-link]").focus();
      } else if (running) {
        // The number of the revision on its way is what this one has to name.
        event.preventDefault();
        const button = event.submitter;
        await running;
        if (!closed) form.requestSubmit(button);
      } else {
        dirty = false;
      }
    });
    addEventListener("beforeunload", (event) => {
      if (dirty && !closed) {
        save();
        event.preventDefault();
      }
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") save();
    });
    // A page that the browser kept shows a revision of then.
    addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
    return { changed, save, close };
  })();

  // ---- the lease, while the page is open

  const lease = document.querySelector("[data-renew]");
  if (lease) {
    const until = lease.querySelector("[data-lease-until]");
    const renew = async () => {
      let response;
      try {
        response = await fetch(lease.dataset.renew, {
          method: "POST",
          headers,
          body: new URLSearchParams({ fence: lease.dataset.fence }),
        });
      } catch {
        return; // without a connection; the next one may get through
      }
      const answer = await answerOf(response);
      if (response.ok && answer.lease_until && until) {
        until.textContent = clock(answer.lease_until);
      } else if (response.status === 409 && answer.error?.kind !== "confirming") {
        clearInterval(timer);
        saving?.close("superseded", { href: form.dataset.request, text: "toTest" });
      }
    };
    const timer = setInterval(renew, Math.max(10, Number(lease.dataset.every)) * 1000);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") renew();
    });
  }

  // ---- the same draft in another window

  if (form && "BroadcastChannel" in self) {
    const channel = new BroadcastChannel(`draft:${form.action}`);
    channel.addEventListener("message", (event) => {
      if (event.data === "opened") channel.postMessage("open");
      else if (event.data === "open") warn("twoWindows");
    });
    channel.postMessage("opened");
  }

  // ---- files

  if (files) {
    const most = Number(files.dataset.maxBytes);
    const queue = [];
    let busy = false;

    const row = (place, name) => {
      const list = place.querySelector("[data-progress]") ?? files.querySelector("[data-progress]");
      const item = document.createElement("li");
      item.className = "upload-progress";
      const title = document.createElement("span");
      title.className = "upload-progress-name";
      title.textContent = name;
      const bar = document.createElement("progress");
      bar.max = 1;
      bar.value = 0;
      bar.setAttribute("aria-label", say(words.sending, { name }));
      const state = document.createElement("span");
      state.className = "upload-progress-state";
      state.setAttribute("role", "status");
      item.append(title, bar, state);
      list.append(item);
      return { item, bar, state };
    };

    const refuse = (shown, text) => {
      shown.bar.remove();
      shown.item.dataset.state = "refused";
      shown.state.textContent = text;
      shown.state.setAttribute("role", "alert");
    };

    // The server's own markup for a file that it has, so that there is one way to show it.
    const shelve = (answer, place) => {
      for (const [selector, markup] of Object.entries(answer.markup ?? {})) {
        for (const list of document.querySelectorAll(`[data-list="${selector}"]`)) {
          const template = document.createElement("template");
          template.innerHTML = markup;
          for (const one of template.content.children) list.append(document.importNode(one, true));
          list.hidden = false;
          list.parentElement?.querySelector("[data-empty]")?.remove();
        }
      }
      const observation = place.dataset.upload;
      for (const box of document.querySelectorAll("input[data-file]")) {
        if (box.value === answer.upload_id && box.dataset.file === observation) box.checked = true;
      }
      for (const all of document.querySelectorAll("details[data-file-choice]")) all.hidden = false;
      saving?.changed();
    };

    const send = ({ file, place, name }) =>
      new Promise((done) => {
        const shown = row(place, name);
        if (file.size > most) {
          refuse(shown, say(words.tooLarge, { most: files.dataset.maxText }));
          done();
          return;
        }
        const request = new XMLHttpRequest();
        const target = new URL(files.dataset.action, location.href);
        target.searchParams.set("name", name);
        target.searchParams.set("fence", files.dataset.fence);
        target.searchParams.set("field", place.dataset.upload ?? "");
        request.open("POST", target);
        request.responseType = "json";
        request.setRequestHeader("Accept", "application/json");
        request.setRequestHeader("Content-Type", "application/octet-stream");
        request.upload.addEventListener("progress", (event) => {
          if (!event.lengthComputable) return;
          shown.bar.value = event.loaded / event.total;
          shown.state.textContent = `${Math.floor((100 * event.loaded) / event.total)} %`;
        });
        request.addEventListener("load", () => {
          const answer = request.response ?? {};
          if (request.status === 200 || request.status === 201) {
            shown.item.remove();
            shelve(answer, place);
          } else {
            refuse(shown, answer.error?.message ?? words.uploadFailed);
          }
          done();
        });
        request.addEventListener("error", () => {
          refuse(shown, words.uploadFailed);
          done();
        });
        request.send(file);
      });

    const work = async () => {
      if (busy) return;
      busy = true;
      while (queue.length) await send(queue.shift());
      busy = false;
    };

    const take = (list, place, rename) => {
      for (const file of list) queue.push({ file, place, name: rename?.(file) ?? file.name });
      work();
    };

    for (const one of document.querySelectorAll("[data-with-script]")) one.hidden = false;
    for (const one of document.querySelectorAll("[data-without-script]")) one.hidden = true;
    for (const place of document.querySelectorAll("[data-upload]")) {
      const input = place.querySelector("input[type=file]");
      input?.addEventListener("change", (event) => {
        event.stopPropagation();
        take(input.files, place);
        input.value = "";
      });
      input?.addEventListener("input", (event) => event.stopPropagation());
      place.addEventListener("dragover", (event) => {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        place.classList.add("dropping");
      });
      place.addEventListener("dragleave", () => place.classList.remove("dropping"));
      place.addEventListener("drop", (event) => {
        place.classList.remove("dropping");
        if (!event.dataTransfer.files.length) return;
        event.preventDefault();
        take(event.dataTransfer.files, place);
      });
    }

    // A file dropped beside every place would replace the page, and with it what was typed.
    for (const kind of ["dragover", "drop"]) {
      addEventListener(kind, (event) => {
        if ([...(event.dataTransfer?.types ?? [])].includes("Files")) event.preventDefault();
      });
    }

    document.addEventListener("paste", (event) => {
      const pasted = [...(event.clipboardData?.files ?? [])];
      if (!pasted.length) return;
      event.preventDefault();
      const near = document.activeElement?.closest("[data-answer]")?.querySelector("[data-upload]");
      const place = near ?? files.querySelector("[data-upload]") ?? files;
      const stamp = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
      take(pasted, place, (file) =>
        file.name && !/^image\.\w+$/.test(file.name)
          ? file.name
          : `screenshot-${stamp}.${(file.type.split("/")[1] ?? "png").replace("jpeg", "jpg")}`,
      );
    });
  }
})();
