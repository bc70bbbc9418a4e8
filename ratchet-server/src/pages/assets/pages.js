// Keeps what is marked `data-live` up to date. Without this script a page shows the moment at which it was loaded.
"use strict";

(() => {
  const seconds = Number(document.body.dataset.refresh);
  const status = document.getElementById("live");
  if (!seconds || !status) return;

  const isBusy = (region) => {
    const selection = document.getSelection();
    const selects = selection && selection.type === "Range" && region.contains(selection.anchorNode);
    const typing = region.contains(document.activeElement) && !document.activeElement.matches("a, summary");
    return selects || typing;
  };

  // The same link has the focus after the exchange; folded parts stay as they were.
  const exchange = (region, fresh) => {
    const active = region.contains(document.activeElement) ? document.activeElement : null;
    const href = active && active.getAttribute("href");
    const open = [...region.querySelectorAll("details[open]")].map((part) => part.id);
    region.replaceChildren(...fresh.childNodes);
    for (const id of open) if (id) document.getElementById(id)?.setAttribute("open", "");
    if (href) region.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
  };

  const announce = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const refresh = async () => {
    if (document.hidden) return;
    let answer;
    try {
      answer = await fetch(location.pathname + location.search, { redirect: "manual" });
    } catch {
      announce("Not up to date: the server does not answer.");
      return;
    }
    if (answer.type === "opaqueredirect") return location.reload();
    if (!answer.ok) return announce("Not up to date: the server answers with an error.");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    let news = "";
    for (const region of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(region.id);
      if (!fresh || isBusy(region)) continue;
      if (fresh.dataset.state && fresh.dataset.state !== region.dataset.state) {
        news = `The state is ${fresh.dataset.state} now.`;
        region.dataset.state = fresh.dataset.state;
      }
      if (fresh.innerHTML !== region.innerHTML) exchange(region, document.importNode(fresh, true));
    }
    announce(news);
  };

  setInterval(refresh, seconds * 1000);
  document.addEventListener("visibilitychange", refresh);
})();
